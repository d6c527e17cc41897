// Clicks of every kind, presses that no click followed, and where the pointer comes to rest.

import { surroundings } from "./around.js";
import { isReplaced, placeOf as standsAt } from "./dropping.js";
import { clickedElement } from "./element.js";
import { INTERACTIVE } from "./role.js";

const REST_MS = 100;

export function openPointer({ on, say, describe, wants, secrets, around, points, selectors, internals }) {
  const met = (event, element, { role }) => selectors.ofClick(event.composedPath(), element, INTERACTIVE.has(role));

  function tell(kind, event, trusted) {
    const path = event.composedPath();
    const element = clickedElement(path);
    if (!element) return;
    const hosts = trusted ? internals.hostsOf(path, element) : [];
    if (!hosts.length) say(kind, toldOf(event, element, trusted));
    else internals.tell(kind, candidatesOf(element, hosts, (one) => toldOf(event, one, trusted)), hosts);
  }

  function toldOf(event, element, trusted) {
    const described = describe(element);
    const told = { element: described, trusted, ...(points && placeOf(event, element)), ...met(event, element, described) };
    return around ? { ...told, ...surroundings(element, told.element, secrets) } : told;
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
  return openPress(on, say, about, describe, internals);
}

// What an event may be about: the hosts, and then what is taken for it.
function candidatesOf(element, hosts, toldOf) {
  return [...hosts.filter((host) => host !== element), element].map((one) => ({ element: one, told: toldOf(one) }));
}

// Where in the window it was, and where the element stands there.
function placeOf(event, element) {
  const { x, y, width, height } = element.getBoundingClientRect();
  return { point: [event.clientX, event.clientY].map(Math.round), box: [x, y, width, height].map(Math.round) };
}

// A press on what the page replaces meanwhile, that begins on one element and ends on another, or of which the browser
// makes a drag that nothing takes, is no click of that element. What was pressed is described as it was before the
// page's handlers.
function openPress(on, say, about, describe, internals) {
  let press = null; // {element, hosts, candidates, x, y}, from its beginning until its click, its drop or the turn after its end
  let isOver = false;
  let carried = null; // {element, place} of what the browser drags since the press

  function flush() {
    if (isOver && !(carried && isReplaced(carried))) tell(press); // else it was a drop
    if (isOver) press = null;
    isOver = false;
  }

  function tell({ hosts, candidates }) {
    if (hosts.length) internals.tell("element.pressed", candidates, hosts);
    else say("element.pressed", candidates[0].told);
  }

  function forget() {
    press = null;
    isOver = false;
  }

  function end(event) {
    const moved = [event.clientX - press.x, event.clientY - press.y].map(Math.round);
    if (moved.some((one) => one !== 0)) for (const { told } of press.candidates) told.moved = moved;
    isOver = true;
    setTimeout(flush); // a click comes before that
  }

  on("pointerdown", (event, trusted) => {
    flush();
    press = null;
    carried = null;
    const path = event.composedPath();
    const element = clickedElement(path);
    if (!element || event.button !== 0 || !event.isPrimary) return;
    const box = element.getBoundingClientRect();
    const at = [event.clientX - box.x, event.clientY - box.y].map(Math.round);
    const toldOf = (one) => {
      const described = describe(one);
      return { element: described, at, trusted, ...about(event, one, described) };
    };
    const hosts = trusted ? internals.hostsOf(path, element) : [];
    press = { element, hosts, candidates: candidatesOf(element, hosts, toldOf), x: event.clientX, y: event.clientY };
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
