// Form fields: which element is one, what it holds, the key under which the daemon knows it.

import { describe, isEditingHost } from "./element.js";

const LONGEST_VALUE = 10000;
const MOST_FIELDS = 200;
const NOT_FILLED_IN = new Set(["submit", "button", "reset", "image", "hidden"]);

export function openFields(say, secrets) {
  const keys = new WeakMap();
  const holders = new Map(); // key -> WeakRef of the element that holds it
  const reported = new WeakMap(); // element -> its last reported state, to report a prefilled field once

  // Stable in the frame: a re-rendered field gets the key of the one that it replaces.
  function keyOf(element) {
    const known = keys.get(element);
    if (known) return known;
    const own = element.getAttribute("name") || element.getAttribute("id") || describe(element, secrets).name;
    const option = element.type === "radio" || element.type === "checkbox" ? `=${element.value}` : "";
    const base = `${formKey(element)}/${own || element.localName}${option}`.slice(0, 300);
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

  function state(element) {
    const found = { field: keyOf(element), element: describe(element, secrets) };
    const form = formKey(element);
    if (form) found.form = form;
    if (secrets.isSecret(element)) {
      secrets.sayValue(element);
      return { ...found, value: null, filled: element.value !== "" };
    }
    if (element.type === "checkbox" || element.type === "radio") found.checked = element.checked;
    found.value = valueOf(element);
    return found;
  }

  function report(element, extra) {
    const found = state(element);
    reported.set(element, JSON.stringify([found.value, found.checked, found.filled]));
    say("field.filled", { ...found, ...extra });
  }

  // A radio that loses its mark fires no event of its own.
  function reportUnmarked(element, extra) {
    if (element.type !== "radio" || !element.name) return;
    for (const other of element.getRootNode().querySelectorAll("input[type=radio]")) {
      if (other === element || other.name !== element.name || other.form !== element.form) continue;
      if (reported.has(other) && JSON.parse(reported.get(other))[1]) report(other, extra);
    }
  }

  // What stands in fields that nobody filled now; a field that an event told of already is left out.
  function reportStanding(root) {
    let count = 0;
    for (const element of root.querySelectorAll("input, textarea, select, [contenteditable]")) {
      if (!isField(element) || count >= MOST_FIELDS) continue;
      secrets.isSecret(element);
      if (isEmpty(element)) continue;
      const found = state(element);
      if (reported.get(element) === JSON.stringify([found.value, found.checked, found.filled])) continue;
      count += 1;
      report(element, { baseline: true });
    }
  }

  return { report, reportUnmarked, reportStanding };
}

export function isField(element) {
  if (element.localName === "input") return !NOT_FILLED_IN.has(element.type);
  return element.localName === "textarea" || element.localName === "select" || isEditingHost(element);
}

function isEmpty(element) {
  if (element.type === "checkbox" || element.type === "radio") return !element.checked;
  const value = valueOf(element);
  return value === "" || value.length === 0;
}

function valueOf(element) {
  if (element.localName === "select") {
    if (!element.multiple) return element.value.slice(0, LONGEST_VALUE);
    return Array.from(element.selectedOptions, (option) => option.value.slice(0, LONGEST_VALUE)).slice(0, MOST_FIELDS);
  }
  if (element.type === "file") return Array.from(element.files || [], (file) => file.name).join(", ");
  const value = "value" in element ? element.value : (element.innerText ?? element.textContent);
  return String(value ?? "").slice(0, LONGEST_VALUE);
}

function formKey(element) {
  const form = element.form;
  return form ? form.getAttribute("id") || form.getAttribute("name") || "" : "";
}

// A control named "elements" would hide the form's own list.
const elementsOf = Object.getOwnPropertyDescriptor(HTMLFormElement.prototype, "elements").get;

// Read control by control: `new FormData(form)` would fire a `formdata` event at the page.
export function formState(form, submitter, secrets) {
  const about = { action: actionOf(form, submitter), method: methodOf(form, submitter) };
  const id = form.getAttribute("id");
  const name = form.getAttribute("name");
  const label = describe(form, secrets).name;
  if (id) about.id = id;
  if (name) about.attr_name = name;
  if (label) about.name = label;
  const fields = [];
  for (const control of elementsOf.call(form)) {
    if (fields.length >= MOST_FIELDS) break;
    const key = control.getAttribute("name");
    if (key && isSent(control, submitter)) fields.push(...pairs(key, control, secrets));
  }
  return { form: about, fields };
}

function isSent(control, submitter) {
  if (control.matches(":disabled")) return false;
  if (control.type === "checkbox" || control.type === "radio") return control.checked;
  if (/^(submit|image|button|reset)$/.test(control.type)) return control === submitter;
  return "value" in control && control.localName !== "output" && control.localName !== "object";
}

function pairs(key, control, secrets) {
  if (secrets.isSecret(control)) {
    secrets.sayValue(control);
    return [[key, null]];
  }
  const value = valueOf(control);
  return Array.isArray(value) ? value.map((item) => [key, item]) : [[key, value]];
}

function actionOf(form, submitter) {
  const own = submitter && submitter.getAttribute("formaction");
  try {
    return new URL(own ?? form.getAttribute("action") ?? "", document.baseURI).href;
  } catch {
    return document.location.href; // an action that is no URL is submitted to the document's own
  }
}

function methodOf(form, submitter) {
  const own = submitter && submitter.getAttribute("formmethod");
  return (own || form.getAttribute("method") || "get").toLowerCase();
}
