// The text that is selected, once the selection rests.

const REST_MS = 150;
const LONGEST = 10000;

export function openSelection({ on, say, describe, secrets }) {
  let source = null; // the document or a field, while its selection changes
  let last = "";
  let timer = null;

  function flush() {
    clearTimeout(timer);
    if (!source) return;
    const text = selectedText(source, secrets);
    const element = source.nodeType === 1 ? source : holderOf(getSelection());
    source = null;
    if (text === last) return;
    last = text;
    if (text) say("text.selected", element ? { text, element: describe(element) } : { text });
  }

  on("selectionchange", (event) => {
    source = event.target;
    clearTimeout(timer);
    timer = setTimeout(flush, REST_MS);
  });
  return { flush };
}

// What is selected in a field, or else in the document; null: it is a secret.
export function selectedText(source, secrets) {
  if (/^(input|textarea)$/.test(source.localName)) {
    if (secrets.isSecret(source)) return null;
    if (source.selectionStart === null) return "";
    return source.value.slice(source.selectionStart, source.selectionEnd).slice(0, LONGEST);
  }
  return secrets.hideIn(String(getSelection() ?? "")).slice(0, LONGEST);
}

function holderOf(selection) {
  if (!selection?.rangeCount) return null;
  const holder = selection.getRangeAt(0).commonAncestorContainer;
  return holder.nodeType === 1 ? holder : holder.parentElement;
}
