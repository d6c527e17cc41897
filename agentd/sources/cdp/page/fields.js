// Form fields: which element is one, what it holds, the key under which the daemon knows it.

import { isEditingHost } from "./role.js";

const LONGEST_VALUE = 10000;
const MOST = 1000;
const NOT_FILLED_IN = new Set(["submit", "button", "reset", "image", "hidden"]);
const FIELDS = "input, textarea, select, [contenteditable], body";

export function openFields({ listenTo, say, describe, secrets, roots }) {
  const keys = new WeakMap();
  const holders = new Map(); // key -> WeakRef of the element that holds it
  const told = new Map(); // WeakRef of a field -> {print, trusted} as last told or met; bounded, oldest forgotten
  const refs = new WeakMap();

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
    if (told.size > MOST) told.delete(told.keys().next().value);
  }

  function state(element, whole) {
    const described = describe(element);
    const found = { field: keyOf(element, described), element: described };
    const form = formKey(element);
    if (form) found.form = form;
    if (secrets.isSecret(element)) {
      secrets.sayValue(element, whole);
      return { ...found, value: null, filled: element.value !== "" };
    }
    if (isMarked(element)) found.checked = element.checked;
    if (element.type === "file") found.files = filesOf(element);
    const held = heldBy(element);
    if (goesOn(held)) found.cut = true;
    return { ...found, value: cutOff(held) };
  }

  // The same value again, by whatever event (a blur's change, a framework's echo), stays whose it was.
  function report(element, extra) {
    const print = printOf(element);
    const before = told.get(refOf(element));
    const trusted = extra.trusted || (before?.print === print && before.trusted === true);
    note(element, { print, trusted });
    if (trusted && typeof print === "string" && !secrets.isSecret(element)) secrets.noteClear(print);
    const whole = extra.commit === true || extra.baseline === true;
    say("field.filled", { ...state(element, whole), ...extra, ...("trusted" in extra && { trusted }) });
  }

  // A radio that loses its mark fires no event of its own.
  function reportUnmarked(element, extra) {
    if (element.type !== "radio" || !element.name) return;
    for (const other of element.getRootNode().querySelectorAll("input[type=radio]")) {
      if (other === element || other.name !== element.name || other.form !== element.form) continue;
      if (told.has(refOf(other)) && told.get(refOf(other)).print !== printOf(other)) report(other, extra);
    }
  }

  // What stands in fields that nobody filled now; a field that an event told of already is left out.
  function reportStanding() {
    let count = 0;
    let over = 0;
    for (const root of roots.all()) {
      for (const element of root.querySelectorAll(FIELDS)) {
        if (!isField(element)) continue;
        if (count >= MOST) {
          over += 1;
          continue;
        }
        if (!isEditingHost(element)) listenTo(element);
        secrets.isSecret(element);
        if (told.has(refOf(element))) continue;
        count += 1;
        if (isEmpty(element)) note(element, { print: printOf(element), trusted: false });
        else report(element, { baseline: true });
      }
    }
    if (over) say("dropped", { count: over, of: ["field.filled"] });
  }

  function reportIfChanged(element, extra) {
    if (element.isConnected && told.get(refOf(element))?.print !== printOf(element)) report(element, extra);
  }

  // Values that no event told of: a script set them, or a form was reset.
  function reportChanged(trusted) {
    for (const ref of [...told.keys()]) {
      const element = ref.deref();
      if (element?.isConnected) reportIfChanged(element, { trusted });
      else told.delete(ref);
    }
  }

  return {
    keyOf: (element) => keyOf(element, describe(element)),
    printOf,
    report,
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

function filesOf(element) {
  return Array.from(element.files ?? [], (file) => [file.name, file.size]).slice(0, MOST);
}

function isMarked(element) {
  return element.type === "checkbox" || element.type === "radio";
}

function isEmpty(element) {
  return isMarked(element) ? !element.checked : valueOf(element).length === 0;
}

// What has to be the same for a field to be unchanged; cheap, and never told.
function printOf(element) {
  if (isMarked(element)) return element.checked;
  if (element.type === "file") return filesOf(element).join("\n");
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
