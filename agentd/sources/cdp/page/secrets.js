// Which fields are passwords. Their values stay in the page: neither events, forms nor names carry them.
// The daemon gets the fields' HTML names and a salted hash of each value, to mask them in request bodies.

const PASSWORD_HINT = /(^|\s)(current-password|new-password)(\s|$)/;

export function openSecrets(say, salt) {
  const fields = new Set(); // WeakRefs would hide nothing more; entries leave with their document
  const named = new Set();

  function remember(element) {
    if (fields.has(element)) return;
    fields.add(element);
    for (const name of [element.getAttribute("name"), element.getAttribute("id")]) {
      if (name && !named.has(name)) {
        named.add(name);
        say("secret", { field: name });
      }
    }
  }

  function isSecret(element) {
    if (element.localName !== "input" && element.localName !== "textarea") return false;
    const now = element.type === "password" || PASSWORD_HINT.test(element.getAttribute("autocomplete") || "");
    const before =
      fields.has(element) || named.has(element.getAttribute("name")) || named.has(element.getAttribute("id"));
    if (now || before) remember(element);
    return now || before;
  }

  return {
    isSecret,
    // A "show password" button turns the field into a text field: what was a password once stays one.
    watch(root) {
      const observer = new MutationObserver((records) => {
        for (const record of records) if (record.oldValue?.toLowerCase() === "password") remember(record.target);
      });
      observer.observe(root, { subtree: true, attributeFilter: ["type"], attributeOldValue: true });
      return observer;
    },
    sayValue(element) {
      if (element.value) say("secret", { hash: hash(salt + element.value) });
    },
    hideIn(text, roots) {
      let shown = text;
      for (const field of fields) {
        if (field.value && shown.includes(field.value) && roots.some((root) => root.contains(field))) {
          shown = shown.split(field.value).join("•••");
        }
      }
      return shown;
    },
  };
}

// 53 bits, fast and synchronous (SubtleCrypto is neither, and missing on plain http). Mirrored in masking.py.
export function hash(text) {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 2654435761);
    b = Math.imul(b ^ unit, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return 4294967296 * (2097151 & b) + (a >>> 0);
}
