// What an element is to a person: role, accessible name, and the few attributes that a task may name.

import { computeAccessibleName, getRole } from "dom-accessibility-api";

const LONGEST_NAME = 400;
const LONGEST_TEXT = 200;
const TOO_MUCH_TO_LAY_OUT = 5000;

const INTERACTIVE = new Set(
  ("button link checkbox radio switch tab menuitem menuitemcheckbox menuitemradio option treeitem " +
    "textbox searchbox combobox listbox spinbutton slider").split(" "),
);
const FROM_CONTENT = new Set(
  "button link checkbox radio switch tab menuitem menuitemcheckbox menuitemradio option treeitem".split(" "),
);
const OTHER_ROLES = new Set(
  ("alert alertdialog application article banner blockquote caption cell code columnheader complementary " +
    "contentinfo definition deletion dialog directory document emphasis feed figure form generic grid gridcell " +
    "group heading img image insertion list listitem log main marquee math menu menubar meter navigation none " +
    "note paragraph presentation progressbar radiogroup region row rowgroup rowheader scrollbar search separator " +
    "status strong subscript superscript table tablist tabpanel term time timer toolbar tooltip tree treegrid").split(" "),
);
// Input types for which HTML-ARIA names no role; these are what Chrome's own tree calls them.
const INPUT_ROLES = { password: "textbox", date: "textbox", time: "textbox", month: "textbox", week: "textbox",
  "datetime-local": "textbox", file: "button", color: "button" };

export function roleOf(element) {
  const wanted = element.getAttribute("role");
  if (wanted) {
    for (const token of wanted.trim().toLowerCase().split(/\s+/)) {
      if (token === "none" || token === "presentation") break;
      if (INTERACTIVE.has(token) || OTHER_ROLES.has(token)) return token;
    }
  }
  if (element.localName === "input" && INPUT_ROLES[element.type]) return INPUT_ROLES[element.type];
  if (isEditingHost(element)) return "textbox";
  const role = getRole(element);
  return role && (INTERACTIVE.has(role) || OTHER_ROLES.has(role)) ? role : "generic";
}

export function isEditingHost(element) {
  const editable = element.getAttribute("contenteditable");
  return editable !== null && editable.toLowerCase() !== "false" && element.isContentEditable === true;
}

// The nearest element on the event's path that a person would say was clicked.
export function clickedElement(path) {
  const elements = path.filter((node) => node.nodeType === 1);
  return elements.find((element) => INTERACTIVE.has(roleOf(element))) || elements[0] || null;
}

export function describe(element, secrets) {
  const found = { role: roleOf(element), name: nameOf(element, secrets), tag: element.localName };
  const id = element.getAttribute("id");
  const name = element.getAttribute("name");
  if (id) found.id = id.slice(0, LONGEST_NAME);
  if (name) found.attr_name = name.slice(0, LONGEST_NAME);
  if (typeof element.type === "string" && /^(input|button|select)$/.test(element.localName)) found.type = element.type;
  const text = textOf(element);
  if (text) found.text = text;
  return found;
}

function nameOf(element, secrets) {
  let name = "";
  try {
    name = computeAccessibleName(element);
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof DOMException)) throw error; // a malformed aria reference
  }
  // What the library leaves out: content where a second role counts, and Chrome's last resort.
  if (!name.trim() && FROM_CONTENT.has(roleOf(element))) name = textOf(element);
  if (!name.trim()) name = element.getAttribute("placeholder") || element.getAttribute("aria-placeholder") || "";
  return secrets.hideIn(name, namingRoots(element)).replace(/\s+/g, " ").trim().slice(0, LONGEST_NAME);
}

// Where a name can come from: a label that wraps a password field would otherwise speak its value.
function namingRoots(element) {
  const roots = [element, ...(element.labels || [])];
  const root = element.getRootNode();
  for (const attribute of ["aria-labelledby", "aria-owns"]) {
    for (const id of (element.getAttribute(attribute) || "").split(/\s+/)) {
      const referenced = id && root.getElementById && root.getElementById(id);
      if (referenced) roots.push(referenced);
    }
  }
  return roots;
}

function textOf(element) {
  if (/^(input|textarea|select|html|body)$/.test(element.localName)) return "";
  const whole = element.textContent || "";
  if (!whole || whole.length > TOO_MUCH_TO_LAY_OUT) return "";
  const text = typeof element.innerText === "string" ? element.innerText : whole;
  return text.replace(/\s+/g, " ").trim().slice(0, LONGEST_TEXT);
}
