// The accessible name, as Chrome's own tree has it: the library's, and what that leaves out.

import { computeAccessibleName } from "dom-accessibility-api";
import { roleOf } from "./role.js";
import { textOf } from "./text_of.js";

const LONGEST = 400;
const MOST_TITLES = 20;
const TITLED = "img[title], iframe[title], object[title], embed[title], canvas[title]";
const FROM_CONTENT = new Set(
  "button link checkbox radio switch tab menuitem menuitemcheckbox menuitemradio option treeitem".split(" "),
);

export function nameOf(element, secrets) {
  let name = "";
  try {
    name = computeAccessibleName(element, { getComputedStyle: styleOf }).replace(MADE, "$1$2");
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof DOMException)) throw error; // a malformed aria reference
  }
  // What the library leaves out: content where a second role counts, the titles of what has none, lines, and Chrome's
  // last resort.
  const isContent = FROM_CONTENT.has(roleOf(element));
  if (!name.trim() && isContent) name = textOf(element) || titlesIn(element);
  if (isContent && element.querySelector("br")) name = inLines(name, textOf(element));
  if (isEmpty(name) && element.localName === "area") name = element.getAttribute("alt") || "";
  if (isEmpty(name)) name = element.getAttribute("title") || "";
  if (!name.trim()) name = element.getAttribute("placeholder") || element.getAttribute("aria-placeholder") || "";
  return secrets.hideIn(name, namingRoots(element)).replace(/\s+/g, " ").trim().slice(0, LONGEST);
}

// A space that does not break is content.
function isEmpty(name) {
  return !/[^ \t\r\n\f]/.test(name);
}

// The name as the element's text has it in several lines, which the library joins.
function inLines(name, text) {
  return text.replace(/\s/g, "") === name.replace(/\s/g, "") ? text : name;
}

// Of icons that stand in an element without a text.
function titlesIn(element) {
  const titled = Array.from(element.querySelectorAll(TITLED)).slice(0, MOST_TITLES);
  return titled.filter(isShown).map((one) => one.getAttribute("title")).join(" ");
}

function isShown(element) {
  return element.checkVisibility({ visibilityProperty: true }) && !element.closest("[aria-hidden=true]");
}

// What style sheets put before and after is read too. The library sets it off with a space, which stands in no line:
// it goes between marks, by which that space is found again.
const MADE = /\u0001([^\u0001\u0002]*)\u0002 ?| ?\u0003([^\u0003\u0004]*)\u0004/g;

function styleOf(element, pseudo) {
  const style = getComputedStyle(element, pseudo);
  if (!pseudo) return style;
  const shown = style.display !== "none" && style.visibility !== "hidden" ? spoken(style.content) : "";
  const [begin, end] = pseudo === "::before" ? "\u0001\u0002" : "\u0003\u0004";
  const beside = pseudo === "::before" ? element.firstElementChild : element.lastElementChild;
  const apart = shown && (style.display !== "inline" || (beside && getComputedStyle(beside).display !== "inline"));
  const made = apart ? shown : begin + shown + end;
  return { getPropertyValue: () => `"${made}"` };
}

// `"»"`, or `"»" / "next"` with words for who can't see it.
function spoken(content) {
  const strings = content.replace(/url\("(?:[^"\\]|\\.)*"\)/g, "url()").match(/"(?:[^"\\]|\\.)*"/g);
  if (!strings) return "";
  return (/[")] \/ /.test(content) ? strings.slice(-1) : strings).map((one) => one.slice(1, -1)).join("");
}

// Where a name can come from: a label that wraps a password field would otherwise speak its value.
function namingRoots(element) {
  // A form has none, whatever its controls are called: one named "labels" would stand in their place.
  const roots = [element, ...((!(element instanceof HTMLFormElement) && element.labels) || [])];
  const root = element.getRootNode();
  for (const attribute of ["aria-labelledby", "aria-owns"]) {
    for (const id of (element.getAttribute(attribute) || "").split(/\s+/)) {
      const referenced = id && root.getElementById && root.getElementById(id);
      if (referenced) roots.push(referenced);
    }
  }
  return roots;
}
