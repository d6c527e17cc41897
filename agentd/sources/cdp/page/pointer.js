// Clicks of every kind, and where the pointer comes to rest.

import { surroundings } from "./around.js";
import { clickedElement } from "./element.js";

const REST_MS = 100;

export function openPointer({ on, say, describe, wants, secrets, around }) {
  function tell(kind, event, trusted) {
    const element = clickedElement(event.composedPath());
    if (!element) return;
    const told = { element: describe(element), trusted };
    say(kind, around ? { ...told, ...surroundings(element, told.element, secrets) } : told);
  }

  on("click auxclick", (event, trusted) => {
    if (event.button <= 1) tell("element.clicked", event, trusted); // the middle button opens links
  });
  on("dblclick", (event, trusted) => tell("element.double_clicked", event, trusted));
  on("contextmenu", (event, trusted) => tell("element.right_clicked", event, trusted));
  if (wants("element.hovered")) openHover(on, say, describe);
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
