// What a top-level document knows of its tab: whether it is in front, and what its site is permitted.
// A harness can make every page believe that it is in front; the daemon sees that when two say so.

// Those that a person is asked for, in a prompt or in the browser's settings.
const PERMISSIONS = [
  "geolocation", "notifications", "camera", "microphone", "clipboard-read", "midi", "persistent-storage",
  "storage-access", "window-management", "local-fonts", "idle-detection", "display-capture", "local-network-access",
];

export function openTab(say) {
  let front = false;
  const held = []; // a status that nobody holds tells nothing

  function report() {
    const now = document.visibilityState === "visible" && document.hasFocus();
    if (now === front) return;
    front = now;
    say("front", { front });
  }

  function onRestored(event) {
    if (!event.persisted) return;
    front = false; // it said so when it went into the cache, or had no time to
    report();
  }

  async function watchPermission(name) {
    try {
      const status = await navigator.permissions.query({ name });
      status.addEventListener("change", () => say("permission.changed", { name, state: status.state }));
      held.push(status);
    } catch {
      // this browser knows no such permission, or not in an insecure document
    }
  }

  function listen() {
    addEventListener("focus", report, true);
    addEventListener("blur", report, true);
    addEventListener("pageshow", onRestored, true);
    document.addEventListener("visibilitychange", report, true);
  }

  function close() {
    removeEventListener("focus", report, true);
    removeEventListener("blur", report, true);
    removeEventListener("pageshow", onRestored, true);
    document.removeEventListener("visibilitychange", report, true);
  }

  listen();
  report();
  if (navigator.permissions) PERMISSIONS.forEach(watchPermission);
  return { listen, flush: report, close };
}
