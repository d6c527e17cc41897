// Visible text: what stands in the document when it is there, what is added or shown later, what is taken away.
// Known by its text nodes. What comes is told as a person reads it, the whole text of the element that changed; what
// goes by its lines. What goes and comes in one batch was only rendered anew.

import { cancel } from "./appearing.js";
import { shownText } from "./text_of.js";

const LONGEST_CHUNK = 2000;
const OVERLAP = 200; // so that a sentence cut by a chunk's end stands whole in one of two
const MOST_CHUNKS = 50; // of one element
const MOST_LINES = 20000; // a batch
const LONG = 50000;
export const IN_LINE = new Set(
  "a abbr b bdi bdo cite code em font i kbd label mark q s small span strong sub sup time u".split(" "),
);

export function openText({ say, secrets, wants }) {
  const visible = new WeakSet(); // text nodes
  let read = []; // {chunks, lines}: elements of this batch, and which of their lines were not visible before
  let gone = []; // lines
  let count = 0;
  let lost = 0;
  let baseline = false;

  function* look(root) {
    if (!root.isConnected) return;
    if (!isShown(root)) return yield* hide(root);
    for (const [text, nodes] of pieces(root)) {
      const lines = keep(yield* refresh(nodes));
      if (lines.length) read.push({ chunks: Array.from(chunks(tidy(text))).slice(0, MOST_CHUNKS), lines });
      yield;
    }
  }

  // The lines of `nodes` that came to be visible; those that went are noted.
  function* refresh(nodes) {
    const parents = new Map();
    const [came, went] = [[], []];
    for (const node of nodes) {
      const parent = node.parentElement ?? node.parentNode.host;
      if (!parents.has(parent)) parents.set(parent, isShown(parent));
      // What no slot takes of a shadow host's own text is not rendered.
      const taken = parent.shadowRoot && node.parentNode === parent ? node.assignedSlot !== null : true;
      const shown = taken && parents.get(parent) && node.data.trim() !== "";
      if (shown === visible.has(node)) continue;
      (shown ? came : went).push(node);
      if (shown) visible.add(node);
      else visible.delete(node);
      yield;
    }
    gone.push(...keep(lines(went)));
    return lines(came);
  }

  function* hide(root) {
    const went = [];
    for (const node of textsBelow(root, true)) {
      if (visible.delete(node)) went.push(node);
      yield;
    }
    gone.push(...keep(lines(went)));
  }

  function rewritten(node, old) {
    if (visible.delete(node)) gone.push(...keep([clean(old)]));
  }

  function keep(texts) {
    const kept = texts.slice(0, MOST_LINES - count);
    count += kept.length;
    lost += texts.length - kept.length;
    return kept;
  }

  // What comes while the telling rests is of the next batch.
  function* tell() {
    const [news, olds] = cancel(read.flatMap((one) => one.lines), gone, String);
    const left = new Set(news.map(folded));
    const how = baseline ? { baseline } : {};
    const [here, unseen] = [read, lost];
    read = [];
    gone = [];
    count = lost = 0;
    baseline = false;
    if (wants("text.appeared")) {
      for (const text of appeared(here, left)) yield say("text.appeared", { text, ...how });
    }
    if (wants("text.disappeared")) {
      for (const text of olds) yield say("text.disappeared", { text: hidden(text) });
    }
    if (unseen) say("dropped", { count: unseen, of: ["text.appeared", "text.disappeared"] });
  }

  // The chunks in which a new line stands, and a line that stands in none: it came, or was shown, since they were read.
  // All of an element's where the page shows its letters otherwise.
  function* appeared(here, left) {
    const told = new Set();
    for (const { chunks: all, lines: came } of here) {
      const news = came.map(folded).filter((line) => left.has(line));
      if (!news.length) continue;
      const some = all.filter((chunk) => news.some((line) => stands(line, [chunk])));
      const late = some.length ? came.filter((line) => left.has(folded(line)) && !stands(line, some)) : [];
      for (const chunk of some.length ? [...some, ...late] : all) {
        if (told.has(chunk)) continue;
        told.add(chunk);
        yield hidden(chunk);
      }
    }
  }

  function stands(line, some) {
    return some.some((chunk) => folded(chunk).includes(folded(line)));
  }

  function hidden(text) {
    return secrets.hideIn(text).slice(0, LONGEST_CHUNK);
  }

  return {
    look,
    lost: hide,
    rewritten,
    tell,
    asBaseline() {
      baseline = true;
    },
  };
}

export function isShown(element) {
  if (/^(script|style|noscript|template|head|title|meta|link)$/.test(element.localName)) return false;
  return element.checkVisibility({ visibilityProperty: true });
}

// [text, text nodes]: a long text is read part by part, so that none takes long; small neighbours are one part. An open
// shadow root is a part of its own.
function* pieces(root) {
  if ((root.textContent ?? "").length > LONG && root.childElementCount) {
    let few = [];
    let length = 0;
    for (const child of Array.from(root.children)) {
      if (!isShown(child)) continue;
      const own = (child.textContent ?? "").length;
      if (few.length && length + own > LONGEST_CHUNK) {
        yield* together(few);
        few = [];
        length = 0;
      }
      if (own > LONGEST_CHUNK) {
        yield* pieces(child);
      } else {
        few.push(child);
        length += own;
      }
    }
    yield* together(few);
    yield* ownPiece(root);
    yield* shadowPieces(root);
  } else {
    yield* together([root]);
  }
}

function* together(elements) {
  // Both at once: what comes while the work rests is looked at in its own turn.
  const texts = elements.map(shownText);
  if (elements.length) yield [texts.join("\n"), elements.flatMap((element) => Array.from(textsBelow(element)))];
  for (const element of elements) {
    yield* shadowPieces(element);
    for (const below of element.getElementsByTagName("*")) yield* shadowPieces(below);
  }
}

function* shadowPieces(host) {
  if (!host.shadowRoot) return;
  for (const child of host.shadowRoot.children) if (isShown(child)) yield* pieces(child);
  yield* ownPiece(host.shadowRoot);
}

function* ownPiece(parent) {
  const nodes = Array.from(parent.childNodes).filter((node) => node.nodeType === 3);
  if (nodes.length) yield [nodes.map((node) => node.data.trim()).join(" "), nodes];
}

// In the order of the document; `deep`: with open shadow roots, each before the rest of its host.
function* textsBelow(root, deep) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  for (let node = walker.currentNode; node; node = walker.nextNode()) {
    if (node.nodeType === 3) yield node;
    else if (deep && node.shadowRoot) yield* textsBelow(node.shadowRoot, deep);
  }
}

// Text nodes that stood in one line, as one text.
function lines(nodes) {
  const found = [];
  let last = null;
  for (const node of nodes) {
    if (last && blockOf(last) === blockOf(node)) found.push(found.pop() + node.data);
    else found.push(node.data);
    last = node;
  }
  return found.map(clean).filter((line) => line);
}

function blockOf(node) {
  let element = node.parentElement;
  while (element?.parentElement && IN_LINE.has(element.localName)) element = element.parentElement;
  return element;
}

function clean(text) {
  return text.replace(/\s+/g, " ").trim();
}

function folded(text) {
  return clean(text).toLowerCase();
}

function tidy(text) {
  return text.replace(/[ \t]+/g, " ").replace(/\n{2,}/g, "\n").trim();
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
