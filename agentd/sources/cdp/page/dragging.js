// Drags that a page makes itself from pointer events. Only what can be known is told: an element followed the pointer
// while it was held, or changed its place among its siblings by it, and was let go over another one. What follows
// nothing (a drawn line, a selection) is no drag.

import { isField } from "./fields.js";
import { parentOf } from "./element.js";
import { isReplaced, placeOf, under, within } from "./dropping.js";

const FAR = 4; // CSS pixels
const NEAR = 8;
const SHARE = 0.35;
const DEPTH = 6;

export function openDragging({ on, say, describe }) {
  let held = null; // {x, y, items: [{element, box, place}], told}
  let dropped = null;

  on("pointerdown", (event) => {
    flush();
    held = null;
    const path = event.composedPath().filter((node) => node.nodeType === 1);
    if (event.button !== 0 || !event.isPrimary || path.some((node) => isField(node))) return;
    held = { x: event.clientX, y: event.clientY, items: Array.from(movable(path[0]), take) };
  });
  on("pointercancel dragstart", () => {
    held = null;
  });
  on("pointerup", (event, trusted) => {
    const was = held;
    held = null;
    if (!was) return;
    const [dx, dy] = [event.clientX - was.x, event.clientY - was.y];
    if (Math.hypot(dx, dy) < FAR) return;
    const following = was.items.filter((item) => follows(item, dx, dy)).at(-1);
    dropped = { ...was, following, at: [event.clientX, event.clientY], moved: [dx, dy], trusted };
    if (following) dropped.element = describe(following.element);
    dropped.onto = under(dropped.at, (following ?? was.items[0])?.element);
    setTimeout(flush);
  });

  // After the page's handlers: a list that was sorted shows it only now.
  function flush() {
    const drop = dropped;
    dropped = null;
    if (!drop) return;
    const item = drop.following ?? drop.items.find(isReplaced);
    if (!item) return;
    const told = { element: drop.element ?? describe(item.element), trusted: drop.trusted, by: "pointer" };
    if (drop.onto?.isConnected) Object.assign(told, { target: describe(drop.onto), ...within(drop.onto) });
    told.moved = drop.moved.map(Math.round);
    if (isReplaced(item)) told.index = placeOf(item.element).index;
    say("element.dropped", told);
  }

  return { flush };
}

function* movable(element) {
  for (let node = element, n = 0; node && n < DEPTH; node = parentOf(node), n++) {
    if (node === document.body || node === document.documentElement) return;
    yield node;
  }
}

function take(element) {
  return { element, box: element.getBoundingClientRect(), place: placeOf(element) };
}

function follows({ element, box }, dx, dy) {
  if (!element.isConnected) return false;
  const now = element.getBoundingClientRect();
  if (Math.abs(now.width - box.width) > NEAR || Math.abs(now.height - box.height) > NEAR) return false; // it grew
  const along = [
    [now.x - box.x, dx],
    [now.y - box.y, dy],
  ].sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  const went = ([own, hand]) => Math.abs(own - hand) <= NEAR + SHARE * Math.abs(hand);
  const [main, other] = along;
  return Math.abs(main[0]) >= FAR && went(main) && (went(other) || Math.abs(other[0]) < 1);
}
