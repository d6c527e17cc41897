// What a person goes by where an element's own name says too little: the row, card or message that it stands in, and of a
// nameless one (an icon, a shape) its class and its colour. Asked for by a task, since it is text of the page.

import { parentOf } from "./element.js";
import { isTooMuch, textOf } from "./text_of.js";

const LONGEST_CLASS = 100;
const DEEPEST = 12;
const WORD = /[\p{L}\p{N}]{2,}/gu;

export function surroundings(element, described, secrets) {
  const around = aroundOf(element, described, secrets);
  const found = around === null ? {} : { around };
  if (described.name) return found;
  const classes = (element.getAttribute("class") || "").trim().slice(0, LONGEST_CLASS);
  if (classes) found.class = secrets.hideIn(classes);
  const color = colorOf(element);
  if (color) found.color = color;
  return found;
}

// The text of the nearest that has a word beside the element's own; empty where nothing but the whole page has one, null
// where that would be too much to lay out or too far to look.
function aroundOf(element, { name, text }, secrets) {
  const own = new Set(`${name} ${text ?? ""}`.match(WORD));
  let node = parentOf(element);
  for (let n = 0; node && n < DEEPEST; node = parentOf(node), n++) {
    if (node === document.body || node === document.documentElement) return "";
    if (isTooMuch(node)) return null;
    const said = secrets.hideIn(textOf(node), [node]);
    if (said.match(WORD)?.some((word) => !own.has(word))) return said;
  }
  return node ? null : "";
}

function colorOf(element) {
  const style = getComputedStyle(element);
  const color = element.namespaceURI === "http://www.w3.org/2000/svg" ? style.fill : style.backgroundColor;
  const parts = color.match(/^rgba?\((\d+), (\d+), (\d+)(?:, ([\d.]+))?\)$/);
  if (!parts || parts[4] === "0") return "";
  return `#${parts.slice(1, 4).map((one) => Number(one).toString(16).padStart(2, "0")).join("")}`;
}
