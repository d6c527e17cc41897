// Open shadow roots: met when an event passes through one, and looked for when a document stands.

export function openRoots(enter) {
  const met = new Set();

  function meet(root) {
    if (met.has(root)) return;
    met.add(root);
    enter(root);
  }

  // `within` and all open roots below it, nested ones too; `onCustom` gets every custom element on the way.
  function find(within, onCustom) {
    const walker = document.createTreeWalker(within, NodeFilter.SHOW_ELEMENT);
    for (let node = walker.currentNode; node; node = walker.nextNode()) {
      if (onCustom && node.localName?.includes("-")) onCustom(node);
      if (!node.shadowRoot) continue;
      meet(node.shadowRoot);
      find(node.shadowRoot, onCustom);
    }
  }

  return {
    find,
    meetOn(event) {
      for (const node of event.composedPath()) if (node instanceof ShadowRoot) meet(node);
    },
    // The document, and each root that was met and still stands in it.
    *all() {
      yield document;
      for (const root of met) {
        if (root.host.isConnected) yield root;
        else met.delete(root);
      }
    },
  };
}
