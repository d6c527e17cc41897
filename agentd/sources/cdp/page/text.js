// Visible text: what stands in the document when it is there, and what is added or shown later.

const LONGEST_CHUNK = 2000;
const OVERLAP = 200; // so that a sentence cut by a chunk's end stands whole in one of two
const MOST_CHUNKS = 50; // a flush
const MOST_SEEN = 2000;
const WAIT_MS = 40;

export function openText(say) {
  const seen = new Set();
  const changed = new Set();
  let timer = null;

  function report(element, extra) {
    if (!element.isConnected || !isShown(element)) return;
    const text = (element.innerText ?? "").replace(/[ \t]+/g, " ").replace(/\n{2,}/g, "\n").trim();
    let count = 0;
    for (const chunk of chunks(text)) {
      if (seen.has(chunk) || count >= MOST_CHUNKS) continue;
      count += 1;
      seen.add(chunk);
      if (seen.size > MOST_SEEN) seen.delete(seen.values().next().value);
      say("text.appeared", { text: chunk, ...extra });
    }
  }

  function flush() {
    clearTimeout(timer);
    timer = null;
    const elements = Array.from(changed);
    changed.clear();
    for (const element of elements) {
      if (!elements.some((other) => other !== element && other.contains(element))) report(element, {});
    }
  }

  function note(node) {
    const element = node.nodeType === 1 ? node : (node.parentElement ?? node.host);
    if (element) changed.add(element);
  }

  // Only attributes that show or hide text: what a harness writes into others is no event.
  function watch(root) {
    const observer = new MutationObserver((records) => {
      for (const record of records) {
        if (record.type !== "childList") note(record.target);
        else for (const node of record.addedNodes) if (node.nodeType === 1 || node.nodeType === 3) note(node);
      }
      if (changed.size && timer === null) timer = setTimeout(flush, WAIT_MS);
    });
    const shown = ["class", "style", "hidden", "open"];
    observer.observe(root, { subtree: true, childList: true, characterData: true, attributeFilter: shown });
    return observer;
  }

  return { report, watch, flush };
}

function isShown(element) {
  if (/^(script|style|noscript|template|head|title|meta|link)$/.test(element.localName)) return false;
  return element.checkVisibility({ visibilityProperty: true });
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
