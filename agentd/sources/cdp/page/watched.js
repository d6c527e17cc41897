// What stands now: elements and texts that a task names, each told again whenever it stands otherwise, and at the latest
// when a step ends. A script may change a property, and a style sheet may show or hide anything, without any event: so
// all that is watched is looked at again behind every change, in slices.
// Installed only where such kinds are wanted.

import { topmost } from "./changes.js";
import { openSlices } from "./slices.js";

const MOST = 3000; // watched at once, of one kind
const MOST_KNOWN = 2 * MOST;
const MOST_CHANGED = 500; // above this the whole document is looked at instead
const LOOKS = ["class", "style", "hidden", "open", "role", "id", "inert", "popover", "disabled", "checked", "selected",
  "aria-hidden", "aria-checked", "aria-selected", "aria-expanded", "aria-pressed", "aria-disabled", "aria-label"];
// Not `input`: after a listener of ours a page's mutation observers run before its own listener, which it can notice.
const SETTLED = ["transitionend", "animationend", "scrollend", "resize", "toggle", "click", "keyup", "change"];
const HOW = { capture: true, passive: true };

// Readers have: kind; find(root): a generator of elements below it to watch; base(element): what it is known by when it
// is drawn anew; print(element): a text that differs where it stands otherwise, null where it stands nowhere any more;
// read(element): what is told of it.
export function openWatched({ say, roots }, readers, attributes) {
  const changed = new Set();
  const watched = new Map(readers.map((reader) => [reader, openTable(reader, say)]));
  const closed = new Set(); // closed shadow roots, which the daemon hands in
  let isDue = false;
  let baseline = false;
  const slices = openSlices(() => (isDue ? batch() : null));

  function* batch() {
    const [places, how] = [topmost(changed), baseline ? { baseline } : {}];
    isDue = baseline = false;
    changed.clear();
    for (const [reader, table] of watched) {
      for (const place of places) {
        if (!place.isConnected) continue;
        for (const element of reader.find(place)) {
          if (element) table.meet(element);
          yield;
        }
      }
      for (const root of allRoots()) for (const element of reader.select?.(root) ?? []) table.meet(element);
      yield* table.look(how);
    }
  }

  function* allRoots() {
    yield* roots.all();
    for (const root of closed) {
      if (root.host.isConnected) yield root;
      else closed.delete(root);
    }
  }

  function soon() {
    isDue = true;
    slices.soon();
  }

  function note(node) {
    const element = node?.nodeType === 3 ? node.parentNode : node;
    if (!element) return;
    if (changed.size >= MOST_CHANGED) {
      changed.clear();
      changed.add(document);
      for (const root of closed) changed.add(root);
    } else {
      changed.add(element);
    }
  }

  const observer = new MutationObserver((records) => {
    for (const record of records) note(record.target);
    soon();
  });

  function listen() {
    for (const type of SETTLED) addEventListener(type, soon, HOW);
  }

  listen();
  return {
    listen,
    watch(root) {
      const attributeFilter = [...LOOKS, ...attributes];
      observer.observe(root, { subtree: true, childList: true, characterData: true, attributeFilter });
    },
    enter(root) {
      note(root);
      soon();
    },
    // A closed shadow root, as the daemon handed it in.
    enterClosed(root) {
      closed.add(root);
      this.watch(root);
      this.enter(root);
    },
    // What stands in a document that is there; `existing`: it was so when the observer came.
    reportStanding(existing) {
      baseline ||= existing;
      this.enter(document);
      slices.flush();
    },
    // The document comes back from the back/forward cache: nobody knows of it any more.
    forget() {
      for (const table of watched.values()) table.forget();
    },
    flush() {
      isDue = true;
      slices.flush();
    },
    get behind() {
      return slices.behind ? readers.map((reader) => reader.kind) : [];
    },
    close() {
      observer.disconnect();
      slices.close();
      for (const type of SETTLED) removeEventListener(type, soon, HOW);
    },
  };
}

// Of one kind: the elements that are watched, each with the key under which it is told.
function openTable(reader, say) {
  const entries = new Map(); // element -> {base, key, print}
  const holders = new Map(); // base, with a number for the second of its kind -> element
  const keys = new Map(); // the same -> key
  const prints = new Map(); // key -> print as last told
  let count = 0;
  let lost = 0;

  function meet(element) {
    if (entries.has(element)) return;
    if (entries.size >= MOST) {
      lost += 1;
      return;
    }
    const plain = reader.base(element);
    let base = plain;
    for (let n = 2; holders.get(base)?.isConnected; n++) base = `${plain}~${n}`;
    entries.delete(holders.get(base)); // what was drawn anew stands for what it was
    if (!keys.has(base)) keys.set(base, String((count += 1)));
    holders.set(base, element);
    entries.set(element, { base, key: keys.get(base) });
  }

  function* look(how) {
    for (const [element, { base, key }] of entries) {
      const print = element.isConnected ? reader.print(element) : null;
      const before = prints.get(key);
      if (print !== before && (print !== null || before !== undefined)) {
        const initial = before === undefined && !how.baseline ? { initial: true } : {};
        prints.set(key, print);
        say(reader.kind, { key, ...(print === null ? reader.gone(element) : reader.read(element)), ...initial, ...how });
      }
      if (!element.isConnected) {
        entries.delete(element);
        if (holders.get(base) === element) holders.delete(base);
        if (keys.size > MOST_KNOWN) forgetKey(base, key);
      }
      yield;
    }
    if (lost) say("dropped", { count: lost, of: [reader.kind] });
    lost = 0;
  }

  // Of a page that makes ever new names, what is gone is not known again.
  function forgetKey(base, key) {
    keys.delete(base);
    prints.delete(key);
  }

  return { meet, look, forget: () => prints.clear() };
}
