// Drag and drop by the browser's own means: a `drop` comes only where the page (or a field) takes what is carried. A page
// that moves it while it is carried needs none.

import { clickedElement, parentOf } from "./element.js";

const LONGEST = 10000;
const MOST_FILES = 50;
const MOST_WITHIN = 5;

export function openDropping({ on, say, describe, secrets }) {
  let carried = null; // {element, described, place} as it was before the page's handlers change it
  let dropped = null; // {told, carried, isOver}, until these have run; `isOver`: without a drop

  on("dragstart", (event) => {
    const path = event.composedPath().filter((node) => node.nodeType === 1);
    const element = path.find((one) => one.draggable) ?? path[0];
    carried = element ? { element, described: describe(element), place: placeOf(element) } : null;
  });
  on("dragend", (event, trusted) => {
    const was = carried;
    if (event.isTrusted) carried = null;
    if (!was) return;
    flush();
    const onto = under([event.clientX, event.clientY], was.element);
    const told = { element: was.described, trusted, ...(onto && { target: describe(onto), ...within(onto) }) };
    dropped = { told, carried: was, isOver: true };
    setTimeout(flush);
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
    if (event.isTrusted) carried = null;
    setTimeout(flush);
  });

  // Only now it shows whether the element has another place.
  function flush() {
    const drop = dropped;
    dropped = null;
    if (!drop) return;
    const isMoved = drop.carried && isReplaced(drop.carried);
    if (drop.isOver && !isMoved) return;
    if (isMoved) drop.told.index = placeOf(drop.carried.element).index;
    say("element.dropped", drop.told);
  }

  return { flush };
}

// What lies below what was carried.
export function under([x, y], carried) {
  return document.elementsFromPoint(x, y).find((element) => !carried?.contains(element)) ?? null;
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
