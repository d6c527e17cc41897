// What opens and closes: details, dialogs, popovers. `toggle` comes a task after the change, once for several, so who
// made it is asked at the change itself: a dialog and a popover tell of it (`beforetoggle`), of details the turn's
// end shows it.

const MOST = 2000;

export function openToggles({ on, say, describe, trust, roots }) {
  const coming = new Map(); // dialog or popover -> {on, trusted} that its `toggle` will confirm
  const opened = new WeakMap(); // details -> open, when a person's turn began
  const byPerson = new WeakSet(); // details that changed in such a turn and are not told yet

  function tell(element, { on, trusted, closing }) {
    say("element.toggled", { element: closing ?? describe(element), open: on, trusted });
  }

  on("beforetoggle", (event, trusted) => {
    const before = coming.get(event.target);
    if (before?.on === (event.oldState === "open")) tell(event.target, before); // its own event was folded into ours
    // One that is closed is hidden by the time of its `toggle`, and what is hidden has no name.
    const closing = event.newState === "open" ? null : describe(event.target);
    coming.set(event.target, { on: event.newState === "open", trusted, closing });
  });
  on("toggle", (event) => {
    const element = event.target;
    if (element.nodeType !== 1) return;
    const isOpen = event.newState === "open";
    const change = coming.get(element);
    coming.delete(element);
    const trusted = change?.on === isOpen ? change.trusted : wasByPerson(element);
    tell(element, { on: isOpen, trusted, closing: isOpen ? null : change?.closing });
  });

  on("click keydown", (event, trusted) => {
    if (!trusted || (event.type === "keydown" && event.key !== "Enter" && event.key !== " ")) return;
    const details = standing();
    for (const one of details) opened.set(one, one.open);
    if (!details.length) return;
    trust.atEnd(() => {
      for (const one of details) if (opened.get(one) !== one.open) byPerson.add(one);
    });
  });

  // The turn may still run when `toggle` comes.
  function wasByPerson(details) {
    return byPerson.delete(details) || (trust.now && opened.has(details) && opened.get(details) !== details.open);
  }

  function standing() {
    const found = [];
    for (const root of roots.all()) found.push(...root.querySelectorAll("details"));
    return found.slice(0, MOST);
  }
}
