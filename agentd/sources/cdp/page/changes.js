// Changes of the document for those who want them (texts, elements): noted as they come, looked at in slices.
// Installed only where text or element kinds are wanted. What a harness writes into attributes is not listened to.

import { parentOf } from "./element.js";
import { openSlices } from "./slices.js";

const MOST_CHANGED = 500; // above this the whole document is looked at instead
const MOST_REMOVED = 5000;
const KINDS = ["text.appeared", "text.disappeared", "element.appeared", "element.disappeared"];
const SHOWN_BY = ["class", "style", "hidden", "open", "role", "inert", "aria-hidden", "popover"];

// Parts have look(root), lost(node) and, at the end of a batch, tell(): generators.
export function openChanges({ say, wants }, parts) {
  const kinds = KINDS.filter((kind) => wants(kind));
  const changed = new Set();
  let removed = [];
  let lost = 0;
  const slices = openSlices(() => (changed.size || removed.length || lost ? batch() : null));

  function* batch() {
    const roots = topmost(changed);
    const gone = removed;
    changed.clear();
    removed = [];
    for (const root of roots) for (const part of parts) yield* part.look(root);
    for (const node of gone) if (!node.isConnected) for (const part of parts) yield* part.lost(node);
    for (const part of parts) yield* part.tell();
    if (lost) say("dropped", { count: lost, of: kinds });
    lost = 0;
  }

  function note(element) {
    if (!element) return;
    if (changed.size >= MOST_CHANGED) {
      changed.clear();
      element = document.documentElement ?? element;
    }
    changed.add(element);
  }

  function noteRemoved(node) {
    // Shown while we were behind, and gone before anybody looked.
    if (slices.behind && changed.delete(node)) lost += 1;
    else if (removed.length < MOST_REMOVED) removed.push(node);
    else lost += 1;
  }

  const observer = new MutationObserver((records) => {
    for (const record of records) {
      if (record.type === "childList") {
        for (const node of record.addedNodes) note(holderOf(node, record.target));
        for (const node of record.removedNodes) if (node.nodeType === 1 || node.nodeType === 3) noteRemoved(node);
      } else if (record.type === "characterData") {
        for (const part of parts) part.rewritten?.(record.target, record.oldValue);
        note(parentElementOf(record.target));
      } else {
        note(record.target);
      }
    }
    slices.soon();
  });

  return {
    watch(root) {
      observer.observe(root, {
        subtree: true, childList: true, characterData: true, characterDataOldValue: true, attributeFilter: SHOWN_BY,
      });
    },
    note(root) {
      note(root);
      slices.soon();
    },
    flush: slices.flush,
    // The kinds of which something is still to be told.
    get behind() {
      return slices.behind ? kinds : [];
    },
    close() {
      observer.disconnect();
      slices.close();
    },
  };
}

// The element to look at for a node that was added.
function holderOf(node, target) {
  if (node.nodeType === 3) return target.nodeType === 1 ? target : parentElementOf(node);
  if (node.nodeType !== 1) return null;
  // A style sheet may show or hide anything.
  return node.localName === "style" || node.localName === "link" ? document.documentElement : node;
}

function parentElementOf(node) {
  return node.parentElement ?? node.parentNode?.host ?? null;
}

export function topmost(elements) {
  return [...elements].filter((element) => {
    for (let above = parentOf(element); above; above = parentOf(above)) if (elements.has(above)) return false;
    return true;
  });
}
