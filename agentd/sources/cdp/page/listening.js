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
// Of the events that the browser counts, those that a person's input begins with or ends in.
const ACTS = "pointerdown keydown click auxclick beforeinput input compositionend drop touchend".split(" ");

// failed(error): a handler broke, and nobody knows what it would have reported.
export function openListening(trust, failed) {
  const handlers = new Map(); // type -> its handlers
  const listeners = []; // [type, listener], in the order in which they have to stand
  const told = new WeakSet(); // local events can be heard twice, where they pass a slot
  const counted = new Map(); // type -> {heard, reported}: trusted events that came here, and those reported as missed
  const probe = `milestoned-${crypto.getRandomValues(new Uint32Array(4)).join("-")}`;
  let isProbed = false;

  function hear(type) {
    let native = false;
    const mark = () => {
      native = false;
      queueMicrotask(() => {
        native = true;
      });
    };
    const counts = LOCAL.has(type) || OWN.has(type) ? undefined : performance.eventCounts?.get(type);
    if (counts !== undefined) counted.set(type, { heard: counts, reported: 0 });
    const listener = (event) => {
      if (event.isTrusted && counted.has(type)) counted.get(type).heard += 1;
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

  function onProbe() {
    isProbed = true;
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
      addEventListener(probe, onProbe, HOW);
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
      removeEventListener(probe, onProbe, HOW);
    },
    // Whether the listeners stand still: an event of a type that nobody else can name is sent through the window.
    get isStanding() {
      isProbed = false;
      dispatchEvent(new Event(probe));
      return isProbed;
    },
    hears: (type) => handlers.has(type),
    // How many trusted events the browser dispatched that never came here, since this was asked last.
    takeMissed() {
      let missed = 0;
      for (const [type, count] of counted) {
        const now = Math.max(0, performance.eventCounts.get(type) - count.heard);
        missed += Math.max(0, now - count.reported);
        count.reported = now;
      }
      return missed;
    },
    // What the browser counted of a person's input so far.
    get acts() {
      return ACTS.reduce((sum, type) => sum + (performance.eventCounts?.get(type) ?? 0), 0);
    },
  };
}
