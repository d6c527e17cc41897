// The role that an element has for a person, in ARIA's words: as Chrome's own tree has it, but for an editable
// element, which is a textbox to whoever writes in it.

import { getRole } from "dom-accessibility-api";

export const INTERACTIVE = new Set(
  ("button link checkbox radio switch tab menuitem menuitemcheckbox menuitemradio option treeitem " +
    "textbox searchbox combobox listbox spinbutton slider").split(" "),
);
export const OTHER_ROLES = new Set(
  ("alert alertdialog application article banner blockquote caption cell code columnheader complementary " +
    "contentinfo definition deletion dialog directory document emphasis feed figure form generic grid gridcell " +
    "graphics-document graphics-object graphics-symbol group heading img image insertion list listitem log main " +
    "mark marquee math menu menubar meter navigation none note paragraph presentation progressbar radiogroup region " +
    "row rowgroup rowheader scrollbar search separator status strong subscript superscript table tablist tabpanel " +
    "term time timer toolbar tooltip tree treegrid").split(" "),
);
// Input types for which HTML-ARIA names no role; these are what Chrome's own tree calls them.
const INPUT_ROLES = { password: "textbox", date: "textbox", time: "textbox", month: "textbox", week: "textbox",
  "datetime-local": "textbox", file: "button", color: "button" };
// What the library has no role for, and Chrome has.
const BARE_ROLES = { p: "paragraph", em: "emphasis", strong: "strong", code: "code", blockquote: "blockquote",
  time: "time", sub: "subscript", sup: "superscript", del: "deletion", ins: "insertion", mark: "mark", dfn: "term",
  address: "group", hgroup: "group", meter: "meter", search: "search" };
const FOCUSABLE = "a[href], area[href], button, input, select, textarea, summary, [tabindex], [contenteditable]";
const DRAWN = /^(path|rect|circle|ellipse|line|polygon|polyline)$/;
const SVG = "http://www.w3.org/2000/svg";

export function roleOf(element) {
  const wanted = element.getAttribute("role");
  let plain = element;
  if (wanted) {
    for (const token of wanted.trim().toLowerCase().split(/\s+/)) {
      if (token === "none" || token === "presentation") {
        if (element.matches(FOCUSABLE)) plain = withoutRole(element); // what can have the focus keeps its own
        break;
      }
      if (INTERACTIVE.has(token) || OTHER_ROLES.has(token)) return token;
    }
  }
  if (element.localName === "input" && INPUT_ROLES[element.type]) return INPUT_ROLES[element.type];
  if (isEditingHost(element)) return "textbox";
  if (element.namespaceURI === SVG) return drawnRole(element);
  if (/^(section|header|footer)$/.test(element.localName) && !isLandmark(element)) return "generic";
  const role = getRole(plain);
  return role && (INTERACTIVE.has(role) || OTHER_ROLES.has(role)) ? role : bareRole(element);
}

// Whether its author says that it only looks like something; who can have the focus is shown nevertheless.
export function isPresentational(element) {
  return /^\s*(none|presentation)(\s|$)/i.test(element.getAttribute("role") || "");
}

// An element in which a person writes though it is no control; with designMode a whole document.
export function isEditingHost(element) {
  if (element.isContentEditable !== true) return false;
  const editable = element.getAttribute("contenteditable");
  if (editable !== null) return editable.toLowerCase() !== "false";
  return element === document.body && document.designMode === "on";
}

// As far as `getRole` looks at one.
function withoutRole(element) {
  const { localName, type, size } = element;
  const getAttribute = (name) => (name === "role" ? null : element.getAttribute(name));
  return { localName, type, size, getAttribute, hasAttribute: (name) => getAttribute(name) !== null };
}

function drawnRole(element) {
  if (element.localName === "a") return "link";
  if (DRAWN.test(element.localName)) return "graphics-symbol";
  if (element.localName !== "svg") return "generic";
  return element.querySelector("text, a, foreignObject, [tabindex], [role]") ? "graphics-document" : "img";
}

// A part of a page that stands for itself: named, or not within another one.
function isLandmark(element) {
  if (element.localName !== "section") return !element.parentElement?.closest("article, aside, main, nav, section");
  return ["aria-label", "aria-labelledby", "title"].some((name) => element.getAttribute(name)?.trim());
}

// A link that script follows has no href; an element that style sheets turn into a picture is one.
function bareRole(element) {
  if (BARE_ROLES[element.localName]) return BARE_ROLES[element.localName];
  if (element.localName === "a" && element.hasChildNodes()) return "link";
  if (!element.hasChildNodes() && getComputedStyle(element).content.startsWith("url(")) return "img";
  return "generic";
}
