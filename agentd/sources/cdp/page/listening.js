// Hears events on the window, first of all and without a hand on them, and tells each handler whether to trust one.

// What a person does; in its turn all that script does is the person's.
const INPUT = new Set(
  ("pointerdown pointerup mousedown mouseup click auxclick dblclick contextmenu keydown keypress keyup input change " +
    "copy cut paste dragstart drop").split(" "),
);
// These do not leave their shadow tree (the last four where they go from one element of it to another): each root that
// was met has listeners of its own.
const LOCAL = new Set(
  "change submit reset toggle beforetoggle scrollend focus blur pointerover pointerout".split(" "),
);
// Heard on the fields themselves. On the window it would come between an editor's change of the document and the
// page's own listeners, and what the page's MutationObservers hear would come before these instead of after.
const OWN = new Set(["input"]);
const HOW = { capture: true, passive: true };

// failed(error): a handler broke, and nobody knows what it would have told.
export function openListening(trust, failed) {
  const handlers = new Map(); // type -> its handlers
  const listeners = []; // [type, listener], in the order in which they have to stand
  const told = new WeakSet(); // local events can be heard twice, where they pass a slot

  function hear(type) {
    let native = false;
    const mark = () => {
      native = false;
      queueMicrotask(() => {
        native = true;
      });
    };
    const listener = (event) => {
      if (told.has(event)) return;
      if (LOCAL.has(type)) told.add(event);
      const own = event.isTrusted && native;
      if (own && INPUT.has(type)) trust.begin();
      const trusted = own || (event.isTrusted && trust.now);
      for (const handle of handlers.get(type)) {
        // A page can give its controls names by which a form hides its own properties; one that breaks is not all.
        try {
          handle(event, trusted);
        } catch (error) {
          failed(error);
        }
      }
    };
    handlers.set(type, []);
    listeners.push([type, mark], [type, listener]);
  }

  return {
    // handle(event, trusted), for each of the types (words), in the order of the calls of `on`.
    on(types, handle) {
      for (const type of types.split(" ")) {
        if (!handlers.has(type)) hear(type);
        handlers.get(type).push(handle);
      }
    },
    listen() {
      for (const [type, listener] of listeners) if (!OWN.has(type)) addEventListener(type, listener, HOW);
    },
    // Again and again for the same element is as good as once.
    listenTo(element) {
      for (const [type, listener] of listeners) if (OWN.has(type)) element.addEventListener(type, listener, HOW);
    },
    listenIn(root) {
      for (const [type, listener] of listeners) if (LOCAL.has(type)) root.addEventListener(type, listener, HOW);
    },
    close() {
      for (const [type, listener] of listeners) removeEventListener(type, listener, HOW);
    },
  };
}
