// The accessible name, as Chrome's own tree has it: the library's, and what that leaves out.

import { computeAccessibleName } from "dom-accessibility-api";
import { roleOf } from "./role.js";
import { textOf } from "./text_of.js";

const LONGEST = 400;
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
  // What the library leaves out: content where a second role counts, and Chrome's last resort.
  if (!name.trim() && FROM_CONTENT.has(roleOf(element))) name = textOf(element);
  if (!name.trim()) name = element.getAttribute("placeholder") || element.getAttribute("aria-placeholder") || "";
  return secrets.hideIn(name, namingRoots(element)).replace(/\s+/g, " ").trim().slice(0, LONGEST);
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
  const strings = content.match(/"(?:[^"\\]|\\.)*"/g);
  if (!strings) return "";
  return (content.includes('" / ') ? strings.slice(-1) : strings).map((one) => one.slice(1, -1)).join("");
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
