// What an element is to a person: role, accessible name, and the few attributes that a task may name.

import { nameOf } from "./name.js";
import { INTERACTIVE, isPresentational, roleOf } from "./role.js";
import { textOf } from "./text_of.js";

const LONGEST = 400;
const LONGEST_PATH = 200;
const DEEPEST = 12;

export function describe(element, secrets) {
  const found = { role: roleOf(element), name: nameOf(element, secrets), tag: element.localName };
  const id = element.getAttribute("id");
  const name = element.getAttribute("name") || hostName(element);
  if (id) found.id = id.slice(0, LONGEST);
  if (name) found.attr_name = name.slice(0, LONGEST);
  if (typeof element.type === "string" && /^(input|button|select)$/.test(element.localName)) found.type = element.type;
  const text = secrets.hideIn(textOf(element));
  if (text) found.text = text;
  const path = !id && !name && (isDrawn(element) || (!found.name && !text)) && pathOf(element);
  if (path) found.path = path;
  return found;
}

// The nearest element on the event's path that a person would say was clicked: what its author calls presentational
// (the link inside of jQuery UI's tabs) only where nothing around it is a control.
export function clickedElement(path) {
  const elements = path.filter((node) => node.nodeType === 1);
  const controls = elements.filter((element) => INTERACTIVE.has(roleOf(element)));
  return controls.find((element) => !isPresentational(element)) || controls[0] || elements[0] || null;
}

// A control inside a custom element goes by the name that the form gave to that.
function hostName(element) {
  if (!/^(input|textarea|select)$/.test(element.localName)) return null;
  const root = element.getRootNode();
  return root instanceof ShadowRoot && root.host.localName.includes("-") ? root.host.getAttribute("name") : null;
}

// A letter in a drawing is not its name: another like it may stand beside it.
function isDrawn(element) {
  return element.namespaceURI === "http://www.w3.org/2000/svg" && element.localName !== "svg";
}

// Where a nameless element stands (an icon, a shape): `#toolbar>div:2>svg:1`, from the nearest id; the numbers count
// siblings of the same tag. No attribute but `id` has a part in it.
function pathOf(element) {
  const steps = [];
  for (let node = element; node && steps.length < DEEPEST; node = parentOf(node)) {
    const id = node.getAttribute("id");
    if (id) {
      steps.unshift(`#${id}`);
      break;
    }
    if (node === document.body || node === document.documentElement) break;
    let place = 1;
    for (let other = node.previousElementSibling; other; other = other.previousElementSibling) {
      if (other.localName === node.localName) place += 1;
    }
    steps.unshift(`${node.localName}:${place}`);
  }
  return steps.join(">").slice(-LONGEST_PATH);
}

export function parentOf(element) {
  const root = element.parentNode;
  return element.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
}
