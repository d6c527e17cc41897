// Whether what happens now goes back to a person's (or the agent's) own input.
//
// `isTrusted` alone does not say it: a script's click() on a box fires a trusted `change`, its execCommand a trusted
// `input` or `copy`, its requestSubmit() a trusted `submit`. Two things do:
// - An event that the browser dispatches by itself finds no script on the stack, so a microtask runs between two of
//   our listeners; below a script's call it has to wait (see listening.js).
// - What script does in the turn of a person's input goes back to that input: the turn holds for default actions and
//   microtasks, and ends with the next task.

export function openTrust() {
  let now = false;
  let turn = 0;
  const enders = [];
  const channel = new MessageChannel();
  // One message for all of a turn's events: each costs the page a task. A later turn's is not ended by an earlier one's.
  channel.port1.onmessage = (message) => {
    if (message.data === turn) finish();
  };

  function finish() {
    now = false;
    for (const end of enders.splice(0)) end();
  }

  return {
    begin() {
      if (now) return;
      now = true;
      turn += 1;
      channel.port2.postMessage(turn);
    },
    get now() {
      return now;
    },
    // The daemon asks, so another task runs, and the turn is over.
    flush: finish,
    // Once, when the turn that runs now is over; at once where none runs.
    atEnd(end) {
      if (now) enders.push(end);
      else end();
    },
    close: () => channel.port1.close(),
  };
}
