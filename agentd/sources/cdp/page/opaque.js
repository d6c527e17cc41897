// What can't be seen into from here: told once for each, so that nobody takes silence for emptiness.
// A closed shadow root does not show in the page: elements that may have one are suspects, which the daemon looks at
// from outside (agentd/sources/cdp/suspects.py) and hands back.

const MOST = 50;
const OPAQUE = "canvas, embed, object, applet";

export function openOpaque({ on, say, describe, roots }) {
  const told = new WeakSet();
  const suspected = new WeakSet();
  let suspects = [];
  let count = 0;

  function tell(element, reason) {
    if (told.has(element) || count >= MOST) return;
    told.add(element);
    count += 1;
    say("element.opaque", { element: describe(element), reason });
  }

  function suspect(element) {
    if (element.shadowRoot || suspected.has(element) || suspects.length >= MOST) return;
    suspected.add(element);
    suspects.push(element);
    if (suspects.length === 1) say("suspects", {});
  }

  on("pointerdown", (event) => {
    const element = event.composedPath()[0];
    if (element?.nodeType !== 1) return;
    if (element.matches(OPAQUE)) tell(element, reasonOf(element));
    else if (element.localName.includes("-") || !element.hasChildNodes()) suspect(element);
  });

  return {
    look() {
      for (const root of roots.all()) {
        for (const element of root.querySelectorAll(OPAQUE)) if (isShown(element)) tell(element, reasonOf(element));
      }
    },
    custom: (element) => element.matches(":defined") && suspect(element),
    // For the daemon: the suspects since the last call, and its word on one of them.
    takeSuspects() {
      const taken = suspects;
      suspects = [];
      return taken;
    },
    isClosed: (element) => tell(element, "a closed shadow root"),
  };
}

function isShown(element) {
  return element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0;
}

function reasonOf(element) {
  if (element.localName === "canvas") return "a canvas: only its pixels are there";
  return `a plug-in${element.type ? `: ${element.type}` : ""}`;
}
