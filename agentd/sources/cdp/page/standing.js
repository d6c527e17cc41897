// Whether the observer hears a person's input before the page does. document.open() takes all listeners off the window,
// and a script that comes later may find the page's own there: those stand before ours and can keep events from us.
// Of most events the browser itself counts how many it dispatched; of the others (submit, change, ...) the daemon
// looks which listeners the page has on its window (agentd/sources/cdp/attach/precedence.py).

// Of these a person's input is no cause, or they are looked at without any event.
const WITHOUT_INPUT = new Set(
  ("text.appeared text.disappeared element.appeared element.disappeared element.unobservable element.state_changed text.shown " +
    "attribute.changed permission.changed page.scrolled").split(" "),
);
// Without these the observer does not know a field, or what stood in a document.
const NEEDED = new Set(["input", "DOMContentLoaded", "pagehide"]);

export function openStanding(listening, say, kinds) {
  const hidden = kinds.filter((kind) => !WITHOUT_INPUT.has(kind));
  let isPending = false; // the daemon was asked and has not answered
  let isPreceded = false; // the page may keep events from us that nobody counts
  let acts = listening.acts;

  function report(count) {
    say("hidden", { count, of: hidden });
  }

  // What was done since the last look may be hidden, where the page stands before us.
  function look() {
    const missed = listening.takeMissed();
    if (missed) report(missed);
    if (isPending) return;
    const done = listening.acts - acts;
    acts += done;
    if (isPreceded && done && !missed) report(done);
  }

  return {
    look,
    ask() {
      isPending = true;
      if (!isPreceded) acts = listening.acts; // what was done before came here
      say("reopened", {});
    },
    // The daemon's answer: the types of which the page has a listener on its window that captures.
    answer(types) {
      isPending = false;
      isPreceded ||= types.some((type) => listening.hears(type) || NEEDED.has(type));
      look();
      return isPreceded;
    },
    report,
    // The kinds that may be hidden as far as is known yet; `also`: for another reason than this.
    behindWith: (also) => (isPending || also ? hidden : []),
  };
}
