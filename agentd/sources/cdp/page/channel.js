// The way out of the page: an ordered queue that empties into the daemon's binding once that is there.
// The binding arrives some milliseconds after a document's start; until then messages wait here.

const MOST_WAITING = 2000;

// A page may hold halves of characters (lone surrogates), which are no text that anybody else can read.
function encode(message) {
  return JSON.stringify(message, (key, value) => (typeof value === "string" ? value.toWellFormed() : value));
}

export function openChannel(name) {
  const waiting = [];
  let dropped = 0;
  let send = typeof globalThis[name] === "function" ? globalThis[name] : null;

  function drain() {
    if (!send) return;
    if (dropped) {
      send(JSON.stringify(["dropped", { count: dropped }]));
      dropped = 0;
    }
    while (waiting.length) send(waiting.shift());
  }

  // The inspector sets the binding as a property of this world's global; it hears calls only after the
  // setter has returned, hence the microtask.
  Object.defineProperty(globalThis, name, {
    configurable: true,
    get: () => send,
    set: (given) => {
      send = given;
      Promise.resolve().then(drain);
    },
  });

  return {
    drain,
    // The document goes into the back/forward cache: the binding that is there speaks to nobody from here on, and when
    // the document comes back it is given one anew.
    pause() {
      send = null;
    },
    // What is true of this moment alone: said at once or not at all.
    sayNow(kind) {
      if (send && !waiting.length) send(encode([kind, {}]));
    },
    say(kind, data) {
      if (send && !waiting.length) {
        send(encode([kind, data]));
      } else if (waiting.length < MOST_WAITING) {
        waiting.push(encode([kind, data]));
        drain();
      } else {
        dropped += 1;
      }
    },
  };
}
