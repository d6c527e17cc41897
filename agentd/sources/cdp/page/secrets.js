// Which fields hold secrets: passwords, card numbers, one-time codes. Their values stay in the page: neither events,
// forms nor names carry them. The daemon gets the fields' HTML names and a salted hash of each value, to mask them
// in what goes over the network.

const AUTOCOMPLETE = /(^|\s)(current-password|new-password|one-time-code|cc-number|cc-csc)(\s|$)/i;
// Marked by a letter of no script, which the daemon takes away: a page may show three dots of its own.
const HIDDEN = "\uE0FF\u2022\u2022\u2022";
const HIDDEN_WORDS = `${HIDDEN} ${HIDDEN}`; // a value with white space in it, however many words
const SHORTEST = 4; // what is shorter stands for much else too
const MOST_HELD = 50;
const MOST_CLEAR = 200;
const MOST_NAMES = 200;

// `names`: the lists of common/secret_names.py and what the task adds, as words.
export function openSecrets(say, salt, names) {
  const fields = new Set(); // WeakRefs would hide nothing more; entries leave with their document
  const named = new Set();
  const held = new Set(); // values that stood in them when a person turned elsewhere: a page may show one later
  const said = new Map(); // secret field -> {value, whole} that the daemon knows of
  const telling = new Map(); // HTML name -> whether it tells of a secret; asked at every input
  const clear = new Set(); // values that a person put into other fields before: a user "admin" with that password

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

  function tells(name) {
    if (!telling.has(name)) {
      if (telling.size >= MOST_NAMES) telling.clear();
      telling.set(name, isTelling(name, names));
    }
    return telling.get(name);
  }

  function isSecret(element) {
    if (element.localName !== "input" && element.localName !== "textarea") return false;
    if (fields.has(element)) return true;
    if (/^(checkbox|radio|range|color|file|button|submit|reset|image)$/.test(element.type)) return false;
    const own = [element.getAttribute("name") || "", element.getAttribute("id") || ""];
    const now =
      element.type === "password" ||
      AUTOCOMPLETE.test(element.getAttribute("autocomplete") || "") ||
      own.some((name) => named.has(name) || tells(name));
    if (now) remember(element);
    return now;
  }

  function isLong(value) {
    return value.length >= SHORTEST && !clear.has(value);
  }

  // The daemon knows a value half typed only until there is more of it: it may be a word that stands elsewhere, too.
  function sayValue(element, whole) {
    const before = said.get(element);
    if (before?.value === element.value) {
      before.whole ||= whole;
      return;
    }
    if (!isLong(element.value)) return;
    const elsewhere = before && [...said].some(([other, one]) => other !== element && one.value === before.value);
    const instead = before && !before.whole && !elsewhere ? { instead: hash(salt + before.value) } : {};
    said.set(element, { value: element.value, whole });
    say("secret", { hash: hash(salt + element.value), ...instead });
  }

  return {
    isSecret,
    // A "show password" button turns a field into a text field: what was a password once stays one, so it is looked
    // for before a person's input comes to the page.
    look(root, event) {
      for (const field of root.querySelectorAll("input[type=password]")) remember(field);
      if (event.type === "keydown" && event.key !== "Enter") return; // a value half typed is a part of many words
      for (const field of fields) {
        if (isLong(field.value) && held.size < MOST_HELD) held.add(field.value);
        sayValue(field, true);
      }
    },
    sayValue,
    // What stood in the open before it was anybody's password is known to all.
    noteClear(value) {
      const secret = [...fields].some((field) => field.value === value) || held.has(value);
      if (!secret && clear.size < MOST_CLEAR) clear.add(value);
    },
    // `text` without the values of secret fields that are long enough to be told from other text, and without those,
    // however short, that stand within `roots`.
    hideIn(text, roots = []) {
      if (!fields.size) return text;
      const values = new Set(held);
      for (const field of fields) {
        const here = isLong(field.value) || roots.some((root) => root.contains(field));
        if (here && field.value) values.add(field.value);
      }
      let shown = text;
      for (const value of [...values].sort((a, b) => b.length - a.length)) {
        shown = shown.replaceAll(value, /\s/.test(value) ? HIDDEN_WORDS : HIDDEN);
      }
      return shown;
    },
  };
}

// As `is_telling` and `words` of common/secret_names.py.
export function isTelling(name, names) {
  const parts = words(name);
  if (!parts.length) return false;
  const joined = parts.join("");
  if (names.more.some((more) => more.every((word, n) => parts[parts.length - more.length + n] === word))) return true;
  const bare = joined.replace(/[0-9]+$/, "");
  if (names.not.some((end) => bare.endsWith(end))) return false;
  if (names.anywhere.some((word) => joined.includes(word)) || names.end.some((end) => bare.endsWith(end))) return true;
  return names.word.includes(parts.at(-1)) || names.whole.includes(joined);
}

function words(name) {
  const found = [];
  for (const [word] of name.slice(-200).matchAll(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|\p{L}+/gu)) {
    if (/^[0-9]+$/.test(word) && found.length) found[found.length - 1] += word;
    else found.push(word.toLowerCase());
  }
  return found;
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
