// Drag and drop by the browser's own means: a `drop` comes only where the page (or a field) takes what is carried.

import { clickedElement, parentOf } from "./element.js";

const LONGEST = 10000;
const MOST_FILES = 50;
const MOST_WITHIN = 5;

export function openDropping({ on, say, describe, secrets }) {
  let carried = null; // described as it was before the page's handlers change it
  let source = null;

  on("dragstart", (event) => {
    const path = event.composedPath().filter((node) => node.nodeType === 1);
    source = path.find((element) => element.draggable) ?? path[0] ?? null;
    carried = source && describe(source);
  });
  on("dragend", () => {
    carried = source = null;
  });
  on("drop", (event, trusted) => {
    const path = event.composedPath();
    const onto = clickedElement(path);
    if (!onto) return;
    const told = { onto: describe(onto), ...within(onto), trusted };
    if (carried) told.element = carried;
    const files = Array.from(event.dataTransfer?.files ?? [], (file) => file.name).slice(0, MOST_FILES);
    const text = secrets.hideIn(event.dataTransfer?.getData("text/plain") ?? "").slice(0, LONGEST);
    if (files.length) told.files = files;
    if (text) told.text = text;
    tellPlaced(source, told, say);
    carried = source = null;
  });
}

// The ids of what `element` stands in, nearest first: what was dropped on a list's item was dropped on the list.
export function within(element) {
  const ids = [];
  for (let node = parentOf(element); node && ids.length < MOST_WITHIN; node = parentOf(node)) if (node.id) ids.push(String(node.id));
  return ids.length ? { within: ids } : {};
}

// Tell it once the page's handlers have run, with the place that the element then has among its siblings, if new.
export function tellPlaced(element, told, say) {
  const before = element && placeOf(element);
  setTimeout(() => {
    const after = element?.isConnected ? placeOf(element) : null;
    if (after && (after.parent !== before.parent || after.place !== before.place)) told.place = after.place;
    say("element.dropped", told);
  });
}

export function placeOf(element) {
  const parent = element.parentElement;
  return { parent, place: parent ? Array.prototype.indexOf.call(parent.children, element) : 0 };
}
