// Visible text: what stands in the document when it is there, what is added or shown later, what is taken away.
// It comes as a person reads it, an element's whole text at once; it goes by its lines.

import { below, cancel } from "./appearing.js";

const LONGEST_CHUNK = 2000;
const OVERLAP = 200; // so that a sentence cut by a chunk's end stands whole in one of two
const MOST_CHUNKS = 50; // of one element
const MOST_SEEN = 2000;
const MOST_GONE = 1000; // a batch
const LONG = 50000;
const BLOCKLESS = new Set("a abbr b bdi bdo cite code em font i kbd label mark q s small span strong sub sup time u".split(" "));

export function openText({ say, secrets, wants }) {
  const tellsGone = wants("text.disappeared");
  const seen = new Map(); // chunk -> the element that shows it
  const chunksOf = new WeakMap(); // element -> the chunks that were told of it
  const visible = new WeakSet(); // text nodes, where their going is told
  let come = []; // lines that came in this batch, and that went
  let gone = [];
  let lost = 0;
  let baseline = false;

  function* look(root) {
    if (!root.isConnected) return;
    if (!isShown(root)) return yield* hide(root);
    for (const [element, text] of pieces(root)) {
      report(element, text);
      yield;
    }
    if (tellsGone) yield* lookAtNodes(root);
  }

  function report(element, raw) {
    const text = raw.replace(/[ \t]+/g, " ").replace(/\n{2,}/g, "\n").trim();
    const now = Array.from(chunks(secrets.hideIn(text))).slice(0, MOST_CHUNKS);
    forget(element, now);
    if (!now.length) return;
    chunksOf.set(element, now);
    for (const chunk of now) {
      const known = seen.has(chunk);
      seen.delete(chunk);
      seen.set(chunk, new WeakRef(element));
      if (seen.size > MOST_SEEN) seen.delete(seen.keys().next().value);
      if (!known && wants("text.appeared")) say("text.appeared", { text: chunk, ...(baseline && { baseline }) });
    }
  }

  // What an element shows no more may come again, and is news then.
  function forget(element, kept = []) {
    for (const chunk of chunksOf.get(element) ?? []) {
      if (!kept.includes(chunk) && seen.get(chunk)?.deref() === element) seen.delete(chunk);
    }
    chunksOf.delete(element);
  }

  function* hide(root) {
    const out = [];
    for (const element of below(root)) {
      forget(element);
      yield;
    }
    if (tellsGone) for (const node of textsBelow(root)) if (visible.delete(node)) out.push(node);
    keep(gone, lines(out));
  }

  function* lookAtNodes(root) {
    const shownParents = new Map();
    const [into, out] = [[], []];
    for (const node of textsBelow(root)) {
      const parent = node.parentElement ?? node.parentNode.host;
      if (!shownParents.has(parent)) shownParents.set(parent, isShown(parent));
      const shown = shownParents.get(parent) && node.data.trim() !== "";
      if (shown === visible.has(node)) continue;
      (shown ? into : out).push(node);
      if (shown) visible.add(node);
      else visible.delete(node);
      yield;
    }
    keep(come, lines(into));
    keep(gone, lines(out));
  }

  function* lostFrom(node) {
    yield* hide(node);
  }

  function rewritten(node, old) {
    if (!tellsGone || !visible.delete(node)) return;
    keep(gone, [clean(old)]);
  }

  function keep(list, texts) {
    for (const text of texts) {
      if (!text) continue;
      if (list.length < MOST_GONE) list.push(text);
      else lost += 1;
    }
  }

  function tell() {
    const [, olds] = cancel(come, gone, String);
    for (const text of olds) say("text.disappeared", { text: secrets.hideIn(text).slice(0, LONGEST_CHUNK) });
    if (lost) say("dropped", { count: lost });
    come = [];
    gone = [];
    lost = 0;
    baseline = false;
  }

  return {
    look,
    lost: lostFrom,
    rewritten,
    tell,
    asBaseline() {
      baseline = true;
    },
  };
}

function isShown(element) {
  if (/^(script|style|noscript|template|head|title|meta|link)$/.test(element.localName)) return false;
  return element.checkVisibility({ visibilityProperty: true });
}

// [element, text]: a long text is read part by part, so that none takes long. An open shadow root is a part of its own.
function* pieces(root) {
  if ((root.textContent ?? "").length > LONG && root.childElementCount) {
    yield [root, Array.from(root.childNodes, (node) => (node.nodeType === 3 ? node.data.trim() : "")).join(" ")];
    for (const child of root.children) if (isShown(child)) yield* pieces(child);
  } else {
    yield [root, root.innerText ?? ""];
    for (const element of root.getElementsByTagName("*")) yield* shadowPieces(element);
  }
  yield* shadowPieces(root);
}

function* shadowPieces(host) {
  for (const child of host.shadowRoot?.children ?? []) if (isShown(child)) yield* pieces(child);
}

function* textsBelow(root) {
  if (root.nodeType === 3) return yield root;
  for (const element of below(root)) for (const node of element.childNodes) if (node.nodeType === 3) yield node;
}

// Text nodes that stood in one line, as one text.
function lines(nodes) {
  const found = [];
  let last = null;
  for (const node of nodes) {
    const text = node.data;
    if (last && isInLine(last, node)) found.push(found.pop() + text);
    else found.push(text);
    last = node;
  }
  return found.map(clean);
}

function isInLine(before, after) {
  const block = (node) => {
    let element = node.parentElement;
    while (element && BLOCKLESS.has(element.localName)) element = element.parentElement;
    return element;
  };
  return block(before) === block(after);
}

function clean(text) {
  return text.replace(/\s+/g, " ").trim();
}

function* chunks(text) {
  for (let start = 0; start < text.length; ) {
    const rest = text.length - start;
    let size = Math.min(rest, LONGEST_CHUNK);
    const line = text.lastIndexOf("\n", start + size - 1);
    if (rest > size && line > start + LONGEST_CHUNK / 2) size = line - start;
    yield text.slice(start, start + size);
    start += rest > size ? size - OVERLAP : size;
  }
}
