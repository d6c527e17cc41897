// A form as it is submitted: where it goes and what it carries.

import { isField, valueOf } from "./fields.js";

const MOST = 1000;
// A control named "elements" would hide the form's own list.
const elementsOf = Object.getOwnPropertyDescriptor(HTMLFormElement.prototype, "elements").get;

// `over`: how many controls beyond the most stood there. Read control by control: `new FormData(form)` would fire a `formdata` event at the page.
export function formState(form, submitter, { describe, secrets }) {
  const about = { action: actionOf(form, submitter), method: methodOf(form, submitter) };
  const id = form.getAttribute("id");
  const name = form.getAttribute("name");
  const label = describe(form).name;
  if (id) about.id = id;
  if (name) about.attr_name = name;
  if (label) about.name = label;
  const fields = [];
  let over = 0;
  for (const control of elementsOf.call(form)) {
    const key = control.getAttribute("name");
    if (!key || !isSent(control, submitter)) continue;
    if (fields.length < MOST) fields.push(...pairs(key, control, secrets));
    else over += 1;
  }
  return [{ form: about, fields }, over];
}

function isSent(control, submitter) {
  if (control.matches(":disabled")) return false;
  if (control.type === "checkbox" || control.type === "radio") return control.checked;
  if (/^(submit|image|button|reset)$/.test(control.type)) return control === submitter;
  return control.localName !== "output" && control.localName !== "object" && control.localName !== "fieldset";
}

function pairs(key, control, secrets) {
  // What a custom control sends is its own secret; where it holds one field that can be seen, that is it.
  const inside = Array.from(control.shadowRoot?.querySelectorAll("*") ?? []).filter(isField);
  const [field, another] = control.localName.includes("-") ? inside : [control];
  if (!field || another) return [];
  if (secrets.isSecret(field)) {
    secrets.sayValue(field, true);
    return [[key, null]];
  }
  if ((field.type === "checkbox" || field.type === "radio") && !field.checked) return [];
  const value = valueOf(field);
  return Array.isArray(value) ? value.map((item) => [key, item]) : [[key, value]];
}

function actionOf(form, submitter) {
  const own = submitter && submitter.getAttribute("formaction");
  try {
    return new URL(own ?? form.getAttribute("action") ?? "", document.baseURI).href;
  } catch {
    return location.href; // an action that is no URL is submitted to the document's own
  }
}

function methodOf(form, submitter) {
  const own = submitter && submitter.getAttribute("formmethod");
  return (own || form.getAttribute("method") || "get").toLowerCase();
}
