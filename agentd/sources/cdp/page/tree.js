// The document as a tree of roles and names, as a person or a screen reader meets it: taken where the daemon asks for
// it, bounded in time and size. It changes nothing and leaves the values of secret fields in the page.

import { hasValue, isField, isMarked, valueOf } from "./fields.js";
import { nameOf } from "./name.js";
import { INTERACTIVE, roleOf } from "./role.js";
import { textOf } from "./text_of.js";

const BUDGET_MS = 60;
const DEEPEST = 60;
const LONGEST_TEXT = 1000;
const LONGEST_VALUE = 1000;
const MOST_OPTIONS = 30;
const [ELEMENT, TEXT] = [1, 3]; // of nodes; a constant by its name could be a page's
const NODE_SIZE = 32; // what a node takes beside its texts
const LEFT_OUT = /^(head|script|style|noscript|template|br|wbr)$/;
// What only styles or parts a text is no node: what stands in it is.
const SEE_THROUGH = new Set(
  ("generic none presentation paragraph strong emphasis code subscript superscript deletion insertion mark time term " +
    "rowgroup group").split(" "),
);
// Their content is their name.
const LEAVES = new Set(
  ("button checkbox radio switch tab menuitem menuitemcheckbox menuitemradio option textbox searchbox combobox slider " +
    "spinbutton progressbar meter img image graphics-symbol graphics-document scrollbar separator").split(" "),
);
const NAMED_BY_CONTENT = new Set(["heading", "link"]);
const NAMED = "aria-label aria-labelledby title alt".split(" ");
const SELF_NAMED = /^(fieldset|table|figure|iframe|img|svg|area)$/;
const CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex], [contenteditable], [role]";

// `most`: characters of the tree's JSON, about.
export function takeTree(secrets, most) {
  const nodes = [];
  const until = performance.now() + BUDGET_MS;
  const focused = focusedElement();
  let left = most;
  let cut = false;
  let joins = false; // whether a text goes on with the one before

  function add(node) {
    left -= NODE_SIZE + Object.values(node).join("").length;
    if (left < 0) cut = true;
    else nodes.push(node);
  }

  function walk(parent, depth) {
    if (depth > DEEPEST) cut = true;
    for (const child of childrenOf(parent)) {
      if (!cut && performance.now() > until) cut = true;
      if (cut) return;
      if (child.nodeType === TEXT) addText(child.data, depth);
      else if (child.nodeType === ELEMENT && isShown(child)) visit(child, depth);
      else if (child.localName === "br") joins = false;
    }
  }

  function addText(data, depth) {
    const text = secrets.hideIn(data.replace(/\s+/g, " "));
    if (!text.trim()) return;
    const before = nodes.at(-1);
    if (joins && before?.role === "text" && before.depth === depth) {
      left -= text.length;
      before.name = `${before.name}${text}`.slice(0, LONGEST_TEXT);
      return;
    }
    add({ depth, role: "text", name: text.slice(0, LONGEST_TEXT) });
    joins = true;
  }

  function visit(element, depth) {
    const role = roleOf(element);
    const through = SEE_THROUGH.has(role) && !isField(element) && element !== focused && !isNamed(element);
    const apart = !through || !getComputedStyle(element).display.startsWith("inline");
    if (apart) joins = false;
    if (through) walk(element, depth);
    else {
      add(nodeOf(element, role, depth));
      if (!isLeaf(element, role)) walk(element, depth + 1);
    }
    if (apart) joins = false;
  }

  function nodeOf(element, role, depth) {
    const node = { depth, role };
    const name = nameIn(element, role, secrets);
    if (name) node.name = name;
    if (isField(element)) holdingOf(element, node, secrets);
    for (const state of ["checked", "selected", "expanded", "pressed"]) {
      const value = element.getAttribute(`aria-${state}`);
      if (value === "true" || value === "false") node[state] ??= value === "true";
    }
    if (element.localName === "details") node.expanded = element.hasAttribute("open");
    if (element.matches(":disabled, [aria-disabled=true]")) node.disabled = true;
    if (element === focused) node.focused = true;
    return node;
  }

  if (document.body) walk(document.body, 0);
  for (const node of nodes) if (node.role === "text") node.name = node.name.trim();
  return JSON.stringify({ nodes, cut });
}

// Through open shadow roots; null where the page itself has it.
function focusedElement() {
  let element = document.hasFocus() ? document.activeElement : null;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  return element === document.body ? null : element;
}

function childrenOf(node) {
  if (node.shadowRoot) return node.shadowRoot.childNodes;
  if (node.localName !== "slot") return node.childNodes;
  const assigned = node.assignedNodes();
  return assigned.length ? assigned : node.childNodes;
}

function isShown(element) {
  if (LEFT_OUT.test(element.localName) || element.getAttribute("aria-hidden") === "true") return false;
  if (element.checkVisibility({ visibilityProperty: true })) return true;
  return getComputedStyle(element).display === "contents";
}

function isLeaf(element, role) {
  if (LEAVES.has(role) || element.localName === "select" || isField(element)) return true;
  return NAMED_BY_CONTENT.has(role) && !element.querySelector(CONTROLS);
}

const isNamed = (element) => NAMED.some((name) => element.getAttribute(name)) || element.localName === "fieldset";

function nameIn(element, role, secrets) {
  if (isField(element) || INTERACTIVE.has(role) || SELF_NAMED.test(element.localName) || isNamed(element)) {
    return nameOf(element, secrets);
  }
  return NAMED_BY_CONTENT.has(role) ? secrets.hideIn(textOf(element)) : "";
}

// What a field holds; `field`: its HTML name or id, by which the daemon masks.
function holdingOf(element, node, secrets) {
  const field = element.getAttribute("name") || element.getAttribute("id");
  if (field) node.field = field.slice(0, 200);
  if (secrets.isSecret(element)) node.has_value = element.value !== "";
  else if (isMarked(element)) node.checked = element.checked;
  else {
    const value = valueOf(element);
    node.value = secrets.hideIn((Array.isArray(value) ? value.join(", ") : value).slice(0, LONGEST_VALUE));
  }
  if (element.localName !== "select" || !hasValue(element)) return;
  const options = Array.from(element.options).slice(0, MOST_OPTIONS);
  node.options = options.map((option) => secrets.hideIn(option.label.trim().slice(0, 100)));
  const chosen = Array.from(element.selectedOptions, (option) => option.label.trim());
  node.value = secrets.hideIn(chosen.join(", ").slice(0, LONGEST_VALUE));
}
