// Whether what happens now goes back to a person's (or the agent's) own input.
//
// `isTrusted` alone does not say it: a script's click() on a box fires a trusted `change`, its execCommand a trusted
// `input` or `copy`, its requestSubmit() a trusted `submit`. Two things do:
// - An event that the browser dispatches by itself finds no script on the stack, so a microtask runs between two of
//   our listeners; below a script's call it has to wait (see listening.js).
// - What script does in the turn of a person's input goes back to that input: the turn holds for default actions and
//   microtasks, and ends with the next task.

export function openTrust() {
  let depth = 0;
  let cut = 0; // turns that were over before their message came
  const enders = [];
  const channel = new MessageChannel();
  channel.port1.onmessage = () => {
    if (cut > 0) {
      cut -= 1;
      return;
    }
    depth -= 1;
    if (depth === 0) finish();
  };

  function finish() {
    for (const end of enders.splice(0)) end();
  }

  return {
    begin() {
      depth += 1;
      channel.port2.postMessage(0);
    },
    get now() {
      return depth > 0;
    },
    // The daemon asks, so another task runs, and the turn is over.
    flush() {
      cut += depth;
      depth = 0;
      finish();
    },
    // Once, when the turn that runs now is over; at once where none runs.
    atEnd(end) {
      if (depth > 0) enders.push(end);
      else end();
    },
    close: () => channel.port1.close(),
  };
}
