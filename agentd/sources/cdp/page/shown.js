// text.shown: the text that a block of the page (a paragraph, a heading, a row, a list's item) shows now, without that of
// blocks within it; empty once it goes or is hidden.

import { IN_LINE, isShown } from "./text.js";

const KIND = "text.shown";
const LONGEST = 2000;
const SEEN = { visibilityProperty: true, opacityProperty: true, contentVisibilityAuto: true };
const { FILTER_ACCEPT, FILTER_REJECT, SHOW_ELEMENT, SHOW_TEXT } = NodeFilter;

export function openShown({ secrets }) {
  return {
    kind: KIND,
    *find(root) {
      for (const node of textsBelow(root)) yield node.data.trim() === "" ? null : blockOf(node);
    },
    base: (element) => [pathOf(element), element.localName].join("/"),
    print: (element) => (element && isLaidOut(element) && textOf(element)) || null,
    read(element) {
      const text = secrets.hideIn(textOf(element), [element]);
      return text.length > LONGEST ? { text: text.slice(0, LONGEST), cut: true } : { text };
    },
    gone: () => ({ text: "" }),
  };
}

function isLaidOut(element) {
  if (!isShown(element) || !element.checkVisibility(SEEN)) return false;
  return [...element.getClientRects()].some(({ width, height }) => width > 0 && height > 0);
}

// As a person reads it, in one line.
function textOf(block) {
  let text = "";
  const walker = document.createTreeWalker(block, SHOW_ELEMENT | SHOW_TEXT, (node) => {
    if (node === block || node.nodeType === 3 || isWithinLine(node)) return FILTER_ACCEPT;
    text += " "; // a block of its own
    return FILTER_REJECT;
  });
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.nodeType === 3) text += seenText(node);
    else if (/^(br|td|th)$/.test(node.localName)) text += " ";
  }
  return text.replace(/\s+/g, " ").trim();
}

function isWithinLine(element) {
  return IN_LINE.has(element.localName) || /^(br|td|th)$/.test(element.localName);
}

function seenText(node) {
  const parent = node.parentElement ?? node.parentNode.host;
  // What no slot takes of a shadow host's own text is not rendered.
  if (parent.shadowRoot && node.parentNode === parent && !node.assignedSlot) return "";
  if (!parent.checkVisibility(SEEN)) return "";
  const { textTransform } = getComputedStyle(parent);
  if (textTransform === "uppercase") return node.data.toUpperCase();
  return textTransform === "lowercase" ? node.data.toLowerCase() : node.data;
}

function* textsBelow(root) {
  const walker = document.createTreeWalker(root, SHOW_ELEMENT | SHOW_TEXT);
  for (let node = walker.currentNode; node; node = walker.nextNode()) {
    if (node.nodeType === 3) yield node;
    else if (node.shadowRoot) yield* textsBelow(node.shadowRoot);
  }
}

// The row of a table's cell: what stands side by side is read in one line.
function blockOf(node) {
  let element = node.parentElement ?? node.parentNode.host;
  while (element?.parentElement && IN_LINE.has(element.localName)) element = element.parentElement;
  return element?.closest("td, th")?.closest("tr") ?? element;
}

// Known again by the nearest id and its place below that.
function pathOf(element) {
  const steps = [];
  for (let node = element; node; node = node.parentElement) {
    const id = node.getAttribute("id");
    if (id) {
      steps.push(`#${id}`);
      break;
    }
    steps.push(node.localName);
  }
  return steps.join("<");
}
