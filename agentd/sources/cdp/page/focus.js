// Which element has the focus. Focus events are always "trusted": who moved it is what counts.

export function openFocus({ on, say, describe }) {
  let last = null;
  on("focus", (event, trusted) => {
    const element = event.composedPath()[0];
    if (element?.nodeType !== 1 || element === last) return; // the window's or the document's own
    last = element;
    say("element.focused", { element: describe(element), trusted });
  });
  on("blur", () => {
    last = null;
  });
}
