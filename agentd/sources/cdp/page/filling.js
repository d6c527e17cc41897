// What a person puts into fields and forms: input told as one when it rests, changes at once, then the submit.

import { hasValue, isField, isMarked, isUnsized, openFields, valueOf } from "./fields.js";
import { formState } from "./forms.js";
import { isEditingHost } from "./role.js";

const INPUT_WAIT_MS = 30;
const SIZE_WAIT_MS = 25;
const SIZE_TRIES = 8;

export function openFilling(context) {
  const { on, listenTo, say, secrets, trust, wants } = context;
  const fields = openFields(context);
  const typing = wants("field.typed") ? openTyping(context, fields) : null;
  // element -> {trusted, print of its last trusted input, entered: what that put there, settled: what it held after
  // that}, to be told as one
  const filled = new Map();
  const unsized = new Map(); // file field -> how it was filled, until its files' sizes are known
  let timer = null;

  // A framework's own event behind a person's, for the same value, leaves that the person's.
  function trustOf(element) {
    const { trusted, print } = filled.get(element);
    return trusted || print === fields.printOf(element);
  }

  function flushInput() {
    clearTimeout(timer);
    timer = null;
    for (const [element, state] of filled) if (state.trusted && !state.settled) settle(element, state); // its turn may end later
    const told = Array.from(filled, ([element, { settled }]) => [element, trustOf(element), settled]);
    filled.clear();
    for (const [element, trusted, settled] of told) {
      reportCleared(element, settled);
      if (isEditingHost(element)) fields.reportIfChanged(element, { trusted });
      else fields.report(element, { trusted });
    }
  }

  function note(element, state) {
    secrets.isSecret(element);
    filled.set(element, state);
    if (timer === null) timer = setTimeout(flushInput, INPUT_WAIT_MS);
  }

  // A page may empty a field as soon as it has what was typed (on Enter, on a comma), or take an editor away, before
  // that was told.
  function reportCleared(element, settled) {
    if (!settled || settled.print === "") return;
    const isGone = !element.isConnected && !hasValue(element) && settled.print !== fields.lastPrint(element);
    if (isGone || settled.print !== fields.printOf(element)) fields.reportHeld(element, settled, { trusted: true });
  }

  // What the field holds once the page's own handlers of an input are through, which may format it; at the latest
  // before anything else is done.
  function settle(element, state) {
    const print = fields.printOf(element);
    if (filled.get(element) !== state || typeof print !== "string") return;
    const taken = takenText(element, state.entered, print);
    if (taken) {
      state.settled = taken;
      return;
    }
    // A page that takes a text at the mark that ends it, such as a comma, empties the field of both.
    const { previous } = state;
    if (print === "" && previous && previous.print !== "" && previous.print !== fields.lastPrint(element))
      fields.reportHeld(element, previous, { trusted: true });
    else if (print === "" && !state.isDoubted && isEmptied(state.entered)) {
      state.isDoubted = true;
      fields.reportUnknown(element);
    }
    state.previous = undefined;
    state.settled = { print, value: valueOf(element) };
  }

  // What the page takes out of the field in its own handlers of the input that made it whole, and not what it refuses
  // or formats: an option that was chosen, or a text that is no shorter than what stood there, of which nothing is left
  // in the field, and which the page has put elsewhere, perhaps without the mark that ended it. A page that refuses a
  // text empties the field as well.
  function takenText(element, entered, print) {
    if (!entered || entered.print === print) return null;
    if (element.localName === "select") return entered;
    if (print !== "" || entered.print.length < entered.before.length) return null;
    const text = entered.witness.findElsewhere();
    if (text === null) return null;
    return text === entered.print.trim() ? entered : { ...entered, print: text, value: text };
  }

  // Whether the page emptied the field of a text, so that nobody knows whether it took or refused it. One letter that
  // comes into an empty field and goes is what a page refuses.
  function isEmptied(entered) {
    if (!entered || entered.print === "" || entered.print.length < entered.before.length) return false;
    return entered.print.trim().length > 1;
  }

  function enteredIn(element) {
    const print = fields.printOf(element);
    if (typeof print !== "string" || element.type === "file") return undefined;
    const before = filled.get(element)?.settled?.print ?? fields.lastPrint(element) ?? "";
    const witness = element.localName === "select" ? null : openWitness(element, valueOf(element));
    return { print, before, value: valueOf(element), witness };
  }

  function settleAll() {
    for (const [element, state] of filled) {
      if (!state.trusted) continue;
      settle(element, state);
      state.isSettled = true;
    }
  }

  function settleLater(element, trusted) {
    const state = filled.get(element);
    if (!trusted) return;
    trust.atEnd(() => {
      if (!state.isSettled) settle(element, state);
      state.entered?.witness?.end();
    });
  }

  on("keydown pointerdown click", settleAll);
  on("pointerdown focus", (event) => {
    const element = fieldOf(event);
    if (element && !isEditingHost(element)) listenTo(element);
  });
  on("input", (event, trusted) => {
    const element = event.currentTarget;
    if (trusted) fields.look(element);
    const entered = trusted ? enteredIn(element) : undefined;
    const before = filled.get(element);
    const previous = trusted && before?.trusted ? before.settled : undefined;
    note(element, { trusted, entered, previous, print: trusted ? fields.printOf(element) : before?.print });
    settleLater(element, trusted);
  });
  // A page may write into its field itself what a key or a paste puts there: a mask for dates does.
  on("keydown paste", (event, trusted) => {
    const element = trusted ? fieldOf(event) : null;
    if (!element || !hasValue(element) || (event.type === "keydown" && !isWriting(event.key))) return;
    const before = fields.printOf(element);
    trust.atEnd(() => {
      const print = fields.printOf(element);
      if (print === before || filled.has(element) || !element.isConnected) return;
      if (fields.isByHand(element, print)) return; // its own event came first, and so did what tells of it
      fields.look(element);
      note(element, { trusted: true, print });
    });
  });
  // A page may draw a box anew as it is clicked: then no `change` follows.
  on("click", (event, trusted) => {
    const element = trusted ? fieldOf(event) : null;
    if (!element || !isMarked(element)) return;
    const { checked } = element; // it has its new mark already
    const key = fields.keyOf(element);
    const isAlike = (other) => isMarked(other) && other.checked === checked && fields.keyOf(other) === key;
    trust.atEnd(() => {
      if (!element.isConnected) fields.reportChanged(false, undefined, isAlike);
    });
  });
  // What editors make of it, by themselves or by the browser, is there when it is told.
  on("beforeinput", (event, trusted) => {
    const element = fieldOf(event);
    if (!element || !isEditingHost(element)) return;
    if (trusted) fields.look(element);
    note(element, { trusted });
    settleLater(element, trusted);
  });

  on("change", (event, trusted) => {
    const element = fieldOf(event);
    if (!element) return;
    typing?.flush();
    const own = filled.has(element) ? trustOf(element) : trusted;
    if (filled.get(element)?.trusted) settle(element, filled.get(element));
    reportCleared(element, filled.get(element)?.settled);
    filled.delete(element);
    flushInput();
    fields.reportUnmarked(element, { trusted: own });
    if (isUnsized(element)) {
      unsized.set(element, { trusted: own, commit: true });
      awaitSizes(SIZE_TRIES);
      return;
    }
    unsized.delete(element);
    fields.report(element, { trusted: own, commit: true });
    // A page that formats what was typed does so in its own handlers, which come after us.
    if (own) trust.atEnd(() => fields.reportIfChanged(element, { trusted: true, commit: true }));
  });

  on("reset", (event, trusted) => {
    if (trusted) trust.atEnd(() => fields.reportChanged(true));
  });

  on("submit", (event, trusted) => {
    flush();
    fields.reportChanged(false);
    const form = event.composedPath().find((node) => node instanceof HTMLFormElement);
    if (!form) return;
    const [state, over] = formState(form, event.submitter, context);
    say("form.submitted", { ...state, trusted });
    if (over) say("dropped", { count: over, of: ["form.submitted"] });
  });

  // A file that is empty is told as one once it has been so for a while, or somebody asks.
  function awaitSizes(tries) {
    for (const [element, extra] of unsized) {
      if (tries && isUnsized(element)) continue;
      unsized.delete(element);
      fields.report(element, extra);
    }
    if (unsized.size) setTimeout(awaitSizes, SIZE_WAIT_MS, tries - 1);
  }

  function flush() {
    typing?.flush();
    flushInput();
    awaitSizes(0);
  }

  return {
    flushInput: flush,
    flush() {
      flush();
      fields.reportChanged(false);
    },
    // Before it is told what somebody did: what stands in the fields at that moment. A click comes to a box or a radio
    // that has its new mark already; its `change` follows.
    flushChanged(event) {
      flush();
      fields.reportChanged(false, event.type === "click" ? isMarked : undefined);
    },
    reportStanding() {
      flush(); // what somebody typed while the page was loading did not stand there
      fields.reportStanding();
    },
  };
}

// Sees whether the page's own handlers of an input put its text elsewhere into the page, whole or without the marks
// that end it.
function openWitness(element, value) {
  const MOST = 500;
  const text = String(value).trim();
  const texts = [text, text.replace(/[\s,;]+$/, "")].filter((one) => one !== "");
  let seen = [];
  let answer; // once it has ended
  const take = (records) => {
    for (const record of records) if (seen.length < MOST && !element.contains(record.target)) seen.push(record);
  };
  const observer = new MutationObserver(take);
  for (const root of new Set([document, element.getRootNode()])) {
    observer.observe(root, { subtree: true, childList: true, characterData: true, attributeFilter: ["value"] });
  }
  // The text that is there, or null.
  function findElsewhere() {
    if (answer !== undefined) return answer;
    take(observer.takeRecords());
    const found = seen.flatMap(newTexts);
    return texts.find((wanted) => found.some((one) => one?.includes(wanted))) ?? null;
  }
  return {
    findElsewhere,
    end() {
      answer = valueOf(element).length === 0 ? findElsewhere() : null;
      observer.disconnect();
      seen = [];
    },
  };
}

function newTexts(record) {
  if (record.type === "attributes") return [record.target.getAttribute("value")];
  if (record.type === "characterData") return [record.target.data];
  return Array.from(record.addedNodes, (node) => node.textContent);
}

function isWriting(key) {
  return key.length === 1 || key === "Backspace" || key === "Delete";
}

function fieldOf(event) {
  return event.composedPath().find((node) => node.nodeType === 1 && isField(node)) || null;
}

// field.typed: the text that keys put into a field, runs of it as one.
function openTyping({ on, say, describe, secrets, trust }, fields) {
  const REST_MS = 500;
  const LONGEST = 10000;
  let run = null; // {element, text, trusted}
  let keyed = false;
  let timer = null;

  function flush() {
    clearTimeout(timer);
    const told = run;
    run = null;
    if (!told?.element.isConnected) return;
    const { element, trusted } = told;
    const text = secrets.isSecret(element) ? null : told.text;
    say("field.typed", { element: describe(element), field: fields.keyOf(element), text, trusted });
  }

  function add(element, text, trusted) {
    if (run && (run.element !== element || run.trusted !== trusted)) flush();
    run ??= { element, text: "", trusted };
    run.text = (run.text + text).slice(0, LONGEST);
    clearTimeout(timer);
    timer = setTimeout(flush, REST_MS);
  }

  // A key that writes is followed by one input; what is put there at once soon after has had no key of its own.
  on("keypress", () => {
    keyed = true;
    trust.atEnd(() => {
      keyed = false;
    });
  });
  on("input beforeinput", (event, trusted) => {
    const element = fieldOf(event);
    if (!element || isEditingHost(element) !== (event.type === "beforeinput")) return;
    const text = typedText(event);
    const byKey = keyed;
    keyed = false;
    if (text && (byKey || !event.isTrusted)) add(element, text, trusted);
    else if (run?.element === element && !event.isComposing) flush(); // a deletion, a paste
  });
  on("compositionend", (event, trusted) => {
    const element = fieldOf(event);
    if (element && event.data) add(element, event.data, trusted);
  });
  return { flush };
}

function typedText(event) {
  if (event.inputType === "insertText" && !event.isComposing) return event.data ?? "";
  return event.inputType === "insertLineBreak" || event.inputType === "insertParagraph" ? "\n" : "";
}
