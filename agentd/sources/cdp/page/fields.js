// Form fields: which element is one, what it holds, the key under which the daemon knows it.

import { surroundings } from "./around.js";
import { isEditingHost } from "./role.js";
import { isOutOfSight } from "./sight.js";

const LONGEST_VALUE = 10000;
const MOST = 1000;
const NOT_FILLED_IN = new Set(["submit", "button", "reset", "image", "hidden"]);
const FIELDS = "input, textarea, select, [contenteditable], body";

export function openFields({ listenTo, say, describe, secrets, roots, aroundFields, selectors }) {
  const keys = new WeakMap();
  const holders = new Map(); // key -> WeakRef of the element that holds it
  const told = new Map(); // WeakRef of a field -> {print, trusted} as last told or met; bounded, oldest forgotten
  const refs = new WeakMap();
  const states = new WeakMap(); // field -> the same, for one that leaves the document and comes back
  const reported = new WeakMap(); // field -> as it was described when it was last told
  const met = new WeakSet(); // fields that were looked at once
  const unseen = new WeakSet(); // fields that nobody could see when somebody last put something in
  let stood = false; // what stood in the document when it came was told

  // Stable in the frame: a re-rendered field gets the key of the one that it replaces.
  function keyOf(element, described) {
    const known = keys.get(element);
    if (known) return known;
    const own = described.attr_name || described.id || described.name || described.path || element.localName;
    const option = element.type === "radio" || element.type === "checkbox" ? `=${element.value}` : "";
    const base = `${formKey(element)}/${own}${option}`.slice(0, 300);
    let key = base;
    for (let n = 2; isHeld(key, element); n++) key = `${base}~${n}`;
    keys.set(element, key);
    holders.set(key, new WeakRef(element));
    return key;
  }

  function isHeld(key, element) {
    const holder = holders.get(key)?.deref();
    return holder !== undefined && holder !== element && holder.isConnected;
  }

  function refOf(element) {
    if (!refs.has(element)) refs.set(element, new WeakRef(element));
    return refs.get(element);
  }

  function note(element, state) {
    const ref = refOf(element);
    told.delete(ref);
    told.set(ref, state);
    states.set(element, state);
    met.add(element);
    if (told.size > MOST) told.delete(told.keys().next().value);
  }

  function state(element, whole) {
    const described = describe(element);
    reported.set(element, described);
    const found = { field: keyOf(element, described), element: described, ...selectors.ofField(element) };
    const form = formKey(element);
    if (form) found.form = form;
    const around = aroundFields ? surroundings(element, described, secrets).around : undefined;
    if (around !== undefined) found.around = around;
    if (secrets.isSecret(element)) {
      secrets.sayValue(element, whole);
      return { ...found, value: null, has_value: element.value !== "" };
    }
    if (isMarked(element)) found.checked = element.checked;
    if (element.type === "file") found.files = filesOf(element);
    const held = heldBy(element);
    if (goesOn(held)) found.cut = true;
    return { ...found, value: cutOff(held) };
  }

  // When somebody puts something into it, before the page makes anything of that.
  function look(element) {
    if (isOutOfSight(element)) unseen.add(element);
    else unseen.delete(element);
  }

  // What was hidden at that moment and is shown with its value now can be seen: a part of the page slides or fades in.
  function hiddenOf(element) {
    if (unseen.has(element) && !isOutOfSight(element)) unseen.delete(element);
    return unseen.has(element) ? { hidden: true } : {};
  }

  // The same value again, by whatever event (a blur's change, a framework's echo), stays whose it was.
  function report(element, extra) {
    const print = printOf(element);
    const before = states.get(element);
    const trusted = extra.trusted || (before?.print === print && before.trusted === true);
    note(element, { print, trusted });
    if (trusted && typeof print === "string" && !secrets.isSecret(element)) secrets.noteClear(print);
    const whole = extra.commit === true || extra.baseline === true;
    const how = { ...extra, ...("trusted" in extra && { trusted }), ...(trusted && hiddenOf(element)) };
    say("field.filled", { ...state(element, whole), ...how });
  }

  // What it held a moment ago, `value` with `print`, and does not hold any more: what was filled in before it was cleared.
  function reportHeld(element, { print, value }, extra) {
    note(element, { print, trusted: extra.trusted });
    if (extra.trusted && !secrets.isSecret(element)) secrets.noteClear(print);
    const about = state(element, false);
    const held = secrets.isSecret(element) ? { has_value: print !== "" } : { value };
    say("field.filled", { ...about, ...held, ...extra, ...(extra.trusted && hiddenOf(element)) });
  }

  // It held something that the page took out at once, and nobody knows whether it took that or refused it.
  function reportUnknown(element) {
    say("field.filled", { ...state(element, false), value: null, has_value: true, trusted: true, ...hiddenOf(element) });
    note(element, { print: null, trusted: true });
  }

  // A radio that loses its mark fires no event of its own.
  function reportUnmarked(element, extra) {
    if (element.type !== "radio" || !element.name) return;
    for (const other of element.getRootNode().querySelectorAll("input[type=radio]")) {
      if (other === element || other.name !== element.name || other.form !== element.form) continue;
      if (told.has(refOf(other)) && told.get(refOf(other)).print !== printOf(other)) report(other, extra);
    }
  }

  // The fields that were not looked at before; of more than the most only that they are there.
  function takeNew() {
    const found = [];
    let over = 0;
    for (const root of roots.all()) {
      for (const element of root.querySelectorAll(FIELDS)) {
        if (met.has(element) || !isField(element)) continue;
        met.add(element);
        if (found.length >= MOST) {
          over += 1;
          continue;
        }
        if (!isEditingHost(element)) listenTo(element);
        secrets.isSecret(element);
        found.push(element);
      }
    }
    if (over) say("dropped", { count: over, of: ["field.filled"] });
    return found;
  }

  // What stands in fields that nobody filled now; a field that an event told of already is left out.
  function reportStanding() {
    stood = true;
    for (const element of takeNew()) {
      if (told.has(refOf(element))) continue;
      if (isEmpty(element)) note(element, { print: printOf(element), trusted: false });
      else report(element, { baseline: true });
    }
  }

  function reportIfChanged(element, extra) {
    if (element.isConnected && told.get(refOf(element))?.print !== printOf(element)) report(element, extra);
  }

  // Values that no event told of: a script set them, or a form was reset. What a script drew anew stands for the field
  // of the same key that it drew over; what it took away, with nothing of its key, stands there no more.
  // `isByHand`: whether a person put into such a one what it holds.
  function reportChanged(trusted, isLeftOut = () => false, isByHand = () => trusted) {
    const left = new Map(); // key -> a field that was told and is gone
    for (const ref of [...told.keys()]) {
      const element = ref.deref();
      if (element?.isConnected) {
        if (!isLeftOut(element)) reportIfChanged(element, { trusted });
        continue;
      }
      told.delete(ref);
      if (!element) continue;
      met.delete(element); // it may come back
      if (reported.has(element)) left.set(keys.get(element), reported.get(element));
    }
    if (!stood) return;
    for (const element of takeNew()) {
      if (told.has(refOf(element))) continue;
      const known = states.get(element);
      const isNews = known ? reported.has(element) || known.print !== printOf(element) : !isEmpty(element);
      if (isNews || (left.size && left.has(keyOf(element, describe(element))))) report(element, { trusted: isByHand(element) });
      else note(element, { print: printOf(element), trusted: false });
      left.delete(keys.get(element));
    }
    for (const [key, element] of left) say("field.removed", { field: key, element });
  }

  return {
    keyOf: (element) => keyOf(element, describe(element)),
    printOf,
    lastPrint: (element) => states.get(element)?.print,
    isByHand: (element, print) => states.get(element)?.print === print && states.get(element).trusted,
    look,
    report,
    reportHeld,
    reportUnknown,
    reportIfChanged,
    reportUnmarked,
    reportStanding,
    reportChanged,
  };
}

export function isField(element) {
  if (element.localName === "input") return !NOT_FILLED_IN.has(element.type);
  return element.localName === "textarea" || element.localName === "select" || isEditingHost(element);
}

// Not an editable form, which may have controls that are called "value" and "form".
export function hasValue(element) {
  return element.localName !== "form" && "value" in element;
}

// Whether a file may have a size that is not known yet: until this process may look at it, it reads 0.
export function isUnsized(element) {
  return element.localName === "input" && element.type === "file" && filesOf(element).some(([, size]) => size === 0);
}

function filesOf(element) {
  return Array.from(element.files ?? [], (file) => [file.name, file.size]).slice(0, MOST);
}

export function isMarked(element) {
  return element.type === "checkbox" || element.type === "radio";
}

function isEmpty(element) {
  return isMarked(element) ? !element.checked : valueOf(element).length === 0;
}

// What has to be the same for a field to be unchanged; cheap, and never told.
function printOf(element) {
  if (isMarked(element)) return element.checked;
  if (element.type === "file") return filesOf(element).map(([name]) => name).join("\n");
  if (element.localName === "select") return Array.from(element.selectedOptions, (option) => option.value).join("\n");
  return hasValue(element) ? element.value : element.textContent;
}

export function valueOf(element) {
  return cutOff(heldBy(element));
}

function heldBy(element) {
  if (element.localName === "select" && element.multiple) {
    return Array.from(element.selectedOptions, (option) => option.value);
  }
  if (element.type === "file") return filesOf(element).map(([name]) => name).join(", ");
  return String((hasValue(element) ? element.value : (element.innerText ?? element.textContent)) ?? "");
}

function cutOff(held) {
  return Array.isArray(held) ? held.slice(0, MOST).map(cutOff) : held.slice(0, LONGEST_VALUE);
}

function goesOn(held) {
  return Array.isArray(held) ? held.length > MOST || held.some(goesOn) : held.length > LONGEST_VALUE;
}

// A control inside a custom element stands in the form that this stands in.
function formKey(element) {
  const root = element.getRootNode();
  const form = (element.localName === "form" ? null : element.form) ?? (root instanceof ShadowRoot ? root.host.closest("form") : null);
  return form ? form.getAttribute("id") || form.getAttribute("name") || "" : "";
}
