// Whether what happens now goes back to a person's (or the agent's) own input.
// `submit` says isTrusted even when a script's click() caused it, so trust is carried from the input event:
// it holds for that event's turn, default actions and microtasks included, and ends with the next task.

export function openTrust() {
  let depth = 0;
  const channel = new MessageChannel();
  channel.port1.onmessage = () => {
    depth = Math.max(0, depth - 1);
  };
  return {
    begin(event) {
      if (!event.isTrusted) return;
      depth += 1;
      channel.port2.postMessage(0);
    },
    get now() {
      return depth > 0;
    },
    close: () => channel.port1.close(),
  };
}
