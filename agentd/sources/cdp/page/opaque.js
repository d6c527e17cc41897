// What can't be seen into from here: told once for each, so that nobody takes silence for emptiness.
// A closed shadow root does not show in the page: elements that may have one are suspects, which the daemon looks at
// from outside (agentd/sources/cdp/attach/shadow_roots.py) and hands back. What is done in a closed one is not seen: which of the
// elements in it was clicked, what was typed there, what was sent.

const MOST = 50;
const MOST_SUSPECTS = 500; // at once
// Beside custom elements, those that HTML lets have a shadow root.
const HOSTS = /^(article|aside|blockquote|body|div|footer|h[1-6]|header|main|nav|p|section|span)$/;
const OPAQUE = "canvas, embed, object, applet";

// hidden(): a person's input went to where it can't be seen.
export function openOpaque({ on, say, describe, roots }, hidden) {
  const told = new WeakSet();
  const suspected = new WeakSet();
  const unknown = new Set(); // suspects of which the daemon has said nothing yet
  const closed = new WeakSet();
  const entered = new Set(); // suspects that a person's input went to since, until the daemon says what they are
  let suspects = [];
  let count = 0;

  function tell(element, reason) {
    if (told.has(element) || count >= MOST) return;
    told.add(element);
    count += 1;
    say("element.unobservable", { element: describe(element), reason });
  }

  function suspect(element) {
    if (element.shadowRoot || suspected.has(element) || suspects.length >= MOST_SUSPECTS) return;
    suspected.add(element);
    unknown.add(element);
    suspects.push(element);
    if (suspects.length === 1) say("suspects", {});
  }

  on("pointerdown", (event) => {
    const element = event.composedPath()[0];
    if (element?.nodeType !== 1) return;
    if (element.matches(OPAQUE)) tell(element, reasonOf(element));
    else if (canHost(element)) suspect(element);
  });
  on("click keydown", (event, trusted) => {
    const element = event.composedPath()[0];
    if (!trusted || element?.nodeType !== 1) return;
    if (closed.has(element)) hidden();
    else if (canHost(element) && !element.shadowRoot) {
      suspect(element);
      if (unknown.has(element)) entered.add(element);
    }
  });

  return {
    look() {
      for (const root of roots.all()) {
        for (const element of root.querySelectorAll(OPAQUE)) if (isShown(element)) tell(element, reasonOf(element));
      }
    },
    custom: (element) => element.matches(":defined") && suspect(element),
    // For the daemon: the suspects since the last call.
    takeSuspects() {
      const taken = suspects;
      suspects = [];
      return taken;
    },
    // The daemon's word on one of them.
    judge(element, isClosed) {
      unknown.delete(element);
      const isEntered = entered.delete(element);
      if (!isClosed) return;
      closed.add(element);
      tell(element, "a closed shadow root");
      if (isEntered) hidden();
    },
    // Whether somebody's input went to where it is not known yet if that can be seen into.
    get isBehind() {
      return entered.size > 0;
    },
  };
}

function canHost(element) {
  return element.localName.includes("-") || HOSTS.test(element.localName);
}

function isShown(element) {
  return element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0;
}

function reasonOf(element) {
  if (element.localName === "canvas") return "a canvas: only its pixels are there";
  return `a plug-in${element.type ? `: ${element.type}` : ""}`;
}
