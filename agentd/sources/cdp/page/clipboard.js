// Copied, cut, pasted. What a page puts on the clipboard itself is seen where its handler lets the event pass.

import { clickedElement } from "./element.js";
import { isField } from "./fields.js";
import { selectedText } from "./selection.js";

const LONGEST = 10000;

export function openClipboard({ on, say, describe, secrets, wants }) {
  let copied = null; // a copy whose handlers may still run

  function flush() {
    const told = copied;
    copied = null;
    if (told && told.text !== "") say("text.copied", told);
  }

  if (wants("text.copied")) {
    on("copy cut", (event, trusted) => {
      flush();
      const element = holderOf(event);
      const text = selectedText(element ?? document, secrets);
      const told = { text, ...(element && { element: describe(element) }), trusted };
      if (event.type === "cut") told.removed = true;
      copied = told;
      addEventListener(event.type, () => overridden(event, told), { once: true, passive: true });
      setTimeout(flush);
    });
  }

  // Behind the page's own handlers, one of which may have put something else there.
  function overridden(event, told) {
    const text = event.defaultPrevented ? event.clipboardData?.getData("text/plain") : "";
    if (text) told.text = secrets.hideIn(text).slice(0, LONGEST);
  }

  if (wants("text.pasted")) {
    on("paste", (event, trusted) => {
      const element = holderOf(event);
      const secret = element !== null && secrets.isSecret(element);
      const text = secret ? null : secrets.hideIn(event.clipboardData?.getData("text/plain") ?? "").slice(0, LONGEST);
      if (text !== "") say("text.pasted", { text, ...(element && { element: describe(element) }), trusted });
    });
  }
  return { flush };
}

function holderOf(event) {
  const path = event.composedPath();
  const element = path.find((node) => node.nodeType === 1 && isField(node)) || clickedElement(path);
  return element === document.body || element === document.documentElement ? null : element;
}
