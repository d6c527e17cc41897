// Drag and drop by the browser's own means: a `drop` comes only where the page (or a field) takes what is carried.

import { clickedElement, parentOf } from "./element.js";

const LONGEST = 10000;
const MOST_FILES = 50;
const MOST_WITHIN = 5;

export function openDropping({ on, say, describe, secrets }) {
  let carried = null; // {element, described, place} as it was before the page's handlers change it
  let dropped = null; // {told, carried}, until these have run

  on("dragstart", (event) => {
    const path = event.composedPath().filter((node) => node.nodeType === 1);
    const element = path.find((one) => one.draggable) ?? path[0];
    carried = element ? { element, described: describe(element), place: placeOf(element) } : null;
  });
  on("dragend", () => {
    carried = null;
  });
  on("drop", (event, trusted) => {
    flush();
    const onto = clickedElement(event.composedPath());
    if (!onto) return;
    const told = { target: describe(onto), ...within(onto), trusted };
    if (carried) told.element = carried.described;
    const files = Array.from(event.dataTransfer?.files ?? [], (file) => file.name).slice(0, MOST_FILES);
    const text = secrets.hideIn(event.dataTransfer?.getData("text/plain") ?? "").slice(0, LONGEST);
    if (files.length) told.files = files;
    if (text) told.text = text;
    dropped = { told, carried };
    setTimeout(flush);
  });

  // Only now it shows whether the element has another place.
  function flush() {
    const drop = dropped;
    dropped = null;
    if (!drop) return;
    if (drop.carried && isReplaced(drop.carried)) drop.told.index = placeOf(drop.carried.element).index;
    say("element.dropped", drop.told);
  }

  return { flush };
}

// The ids of what `element` stands in, nearest first: what was dropped on a list's item was dropped on the list.
export function within(element) {
  const ids = [];
  for (let node = parentOf(element); node && ids.length < MOST_WITHIN; node = parentOf(node)) {
    const id = node.getAttribute("id");
    if (id) ids.push(id);
  }
  return ids.length ? { target_ancestors: ids } : {};
}

export function placeOf(element) {
  const parent = element.parentElement;
  return { parent, index: parent ? Array.prototype.indexOf.call(parent.children, element) : 0 };
}

// Whether it has another parent, or another place among its siblings, than `place` says.
export function isReplaced({ element, place }) {
  if (!element.isConnected) return false;
  const now = placeOf(element);
  return now.parent !== place.parent || now.index !== place.index;
}
