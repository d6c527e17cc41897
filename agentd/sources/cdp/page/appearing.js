// element.appeared, element.disappeared: what has a role and comes to be visible, or is so no more.

// What a text is made of is told as text, a document as a page.
const NO_ROLE = new Set(
  ("document generic none presentation paragraph emphasis strong code subscript superscript insertion deletion mark " +
    "term time definition graphics-symbol").split(" "),
);
const MOST_A_BATCH = 20000;

export function openAppearing({ say, describe, wants }, roleOf) {
  const shown = new WeakMap(); // element -> as it was described when it appeared
  let come = [];
  let gone = [];
  let lost = 0;
  let baseline = false;

  function* look(root) {
    if (!root.isConnected) return;
    for (const element of below(root)) {
      if (NO_ROLE.has(roleOf(element)) || !element.checkVisibility({ visibilityProperty: true })) {
        leave(element);
      } else if (!shown.has(element)) {
        const described = describe(element);
        shown.set(element, described);
        keep(come, described);
      }
      yield;
    }
  }

  function* lostFrom(node) {
    if (node.nodeType !== 1) return;
    for (const element of below(node)) {
      leave(element);
      yield;
    }
  }

  function leave(element) {
    if (!shown.has(element)) return;
    keep(gone, shown.get(element));
    shown.delete(element);
  }

  function keep(list, described) {
    if (list.length < MOST_A_BATCH) list.push(described);
    else lost += 1;
  }

  // What was only rendered anew is not told. What comes while the telling rests is of the next batch.
  function* tell() {
    const [news, olds] = cancel(come, gone, JSON.stringify);
    const how = baseline ? { baseline } : {};
    const unseen = lost;
    come = [];
    gone = [];
    lost = 0;
    baseline = false;
    if (wants("element.appeared")) {
      for (const element of news) yield say("element.appeared", { element, ...how });
    }
    if (wants("element.disappeared")) {
      for (const element of olds) yield say("element.disappeared", { element });
    }
    if (unseen) say("dropped", { count: unseen, of: ["element.appeared", "element.disappeared"] });
  }

  return {
    look,
    lost: lostFrom,
    tell,
    asBaseline() {
      baseline = true;
    },
  };
}

// `root`, what is below it, and what is in open shadow roots below it.
export function* below(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT);
  for (let node = walker.currentNode; node; node = walker.nextNode()) {
    if (node.nodeType === 1) yield node;
    if (node.shadowRoot) yield* below(node.shadowRoot);
  }
}

// Both lists without what stands in both.
export function cancel(news, olds, keyOf) {
  const counts = new Map();
  for (const old of olds) counts.set(keyOf(old), (counts.get(keyOf(old)) ?? 0) + 1);
  const left = news.filter((one) => {
    const count = counts.get(keyOf(one)) ?? 0;
    if (count) counts.set(keyOf(one), count - 1);
    return !count;
  });
  const rest = olds.filter((old) => {
    const count = counts.get(keyOf(old));
    if (count) counts.set(keyOf(old), count - 1);
    return count > 0;
  });
  return [left, rest];
}
