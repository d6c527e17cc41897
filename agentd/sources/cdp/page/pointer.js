// Clicks of every kind, presses that no click followed, and where the pointer comes to rest.

import { surroundings } from "./around.js";
import { isReplaced, placeOf as standsAt } from "./dropping.js";
import { clickedElement } from "./element.js";
import { INTERACTIVE } from "./role.js";

const REST_MS = 100;

export function openPointer({ on, say, describe, wants, secrets, around, points, selectors }) {
  const met = (event, element, { role }) => selectors.ofClick(event.composedPath(), element, INTERACTIVE.has(role));

  function tell(kind, event, trusted) {
    const element = clickedElement(event.composedPath());
    if (!element) return;
    const described = describe(element);
    const told = { element: described, trusted, ...(points && placeOf(event, element)), ...met(event, element, described) };
    say(kind, around ? { ...told, ...surroundings(element, told.element, secrets) } : told);
  }

  on("click auxclick", (event, trusted) => {
    if (event.button <= 1) tell("element.clicked", event, trusted); // the middle button opens links
  });
  on("dblclick", (event, trusted) => tell("element.double_clicked", event, trusted));
  on("contextmenu", (event, trusted) => tell("element.right_clicked", event, trusted));
  if (wants("element.hovered")) openHover(on, say, describe);
  const placed = (event, element) => (points ? placeOf(event, element) : {});
  const looks = (element, described) => (around ? surroundings(element, described, secrets) : {});
  const about = (event, element, described) => ({
    ...looks(element, described), ...placed(event, element), ...met(event, element, described),
  });
  return openPress(on, say, about, describe);
}

// Where in the window it was, and where the element stands there.
function placeOf(event, element) {
  const { x, y, width, height } = element.getBoundingClientRect();
  return { point: [event.clientX, event.clientY].map(Math.round), box: [x, y, width, height].map(Math.round) };
}

// A press on what the page replaces meanwhile, that begins on one element and ends on another, or of which the browser
// makes a drag that nothing takes, is no click of that element. What was pressed is described as it was before the
// page's handlers.
function openPress(on, say, about, describe) {
  let press = null; // {element, told, x, y}, from its beginning until its click, its drop or the turn after its end
  let isOver = false;
  let carried = null; // {element, place} of what the browser drags since the press

  function flush() {
    if (isOver && !(carried && isReplaced(carried))) say("element.pressed", press.told); // else it was a drop
    if (isOver) press = null;
    isOver = false;
  }

  function forget() {
    press = null;
    isOver = false;
  }

  function end(event) {
    const moved = [event.clientX - press.x, event.clientY - press.y].map(Math.round);
    if (moved.some((one) => one !== 0)) press.told.moved = moved;
    isOver = true;
    setTimeout(flush); // a click comes before that
  }

  on("pointerdown", (event, trusted) => {
    flush();
    press = null;
    carried = null;
    const element = clickedElement(event.composedPath());
    if (!element || event.button !== 0 || !event.isPrimary) return;
    const box = element.getBoundingClientRect();
    const described = describe(element);
    const at = [event.clientX - box.x, event.clientY - box.y].map(Math.round);
    const told = { element: described, at, trusted, ...about(event, element, described) };
    press = { element, told, x: event.clientX, y: event.clientY };
  });
  on("pointerup", (event) => {
    if (press && event.isPrimary) end(event);
  });
  on("click", (event) => {
    if (press && event.isTrusted && event.composedPath().includes(press.element)) forget();
  });
  on("dragstart", (event) => {
    const element = event.composedPath().find((node) => node.nodeType === 1);
    carried = event.isTrusted && element ? { element, place: standsAt(element) } : null;
  });
  on("dragend", (event) => {
    if (!press || !carried || !event.isTrusted) return;
    if (event.dataTransfer?.dropEffect === "none") end(event);
    else forget();
  });
  on("drop", (event) => event.isTrusted && forget());
  on("pointercancel", () => carried || forget()); // the browser scrolls by it
  return { flush };
}

function openHover(on, say, describe) {
  let element = null;
  let timer = null;

  on("pointerover", (event, trusted) => {
    const over = clickedElement(event.composedPath());
    if (over === element) return; // from one part of it to another
    clearTimeout(timer);
    element = over;
    timer = setTimeout(() => {
      if (element?.isConnected) say("element.hovered", { element: describe(element), trusted });
    }, REST_MS);
  });
  on("pointerout", (event) => {
    if (event.relatedTarget) return; // a pointerover follows
    clearTimeout(timer);
    element = null;
  });
}
