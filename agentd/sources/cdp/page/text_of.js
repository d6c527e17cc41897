// An element's visible text, and of that what is short: read without a layout where its style says as much.

const LONGEST = 200;
const TOO_MUCH_TO_LAY_OUT = 5000;
// What stands in these is shown only where they themselves are not.
const INSTEAD = /^(audio|canvas|embed|iframe|img|meter|noscript|object|progress|video)$/;

export const isTooMuch = (element) => (element.textContent || "").length > TOO_MUCH_TO_LAY_OUT;

export function textOf(element) {
  if (/^(input|textarea|select|html|body)$/.test(element.localName)) return "";
  const whole = element.textContent || "";
  if (!whole || isTooMuch(element)) return "";
  return shownText(element).replace(/\s+/g, " ").trim().slice(0, LONGEST);
}

// As `innerText` has it, for which the browser lays out the document where any of that changed. Most elements that change
// or are clicked hold nothing but a text that is shown as it stands: those are read by their style.
export function shownText(element) {
  if (element.childElementCount || element.shadowRoot || element.localName.includes("-")) return laidOut(element);
  if (INSTEAD.test(element.localName)) return laidOut(element);
  if (!element.checkVisibility({ visibilityProperty: true })) return laidOut(element);
  const { textTransform, whiteSpaceCollapse } = getComputedStyle(element);
  const plain = textTransform === "none" && whiteSpaceCollapse === "collapse";
  return plain ? (element.textContent ?? "").replace(/[ \t\n\r\f]+/g, " ").trim() : laidOut(element);
}

// A drawing has no `innerText`; a form's may be a control that is called so.
function laidOut(element) {
  const text = element.innerText;
  return typeof text === "string" ? text : (element.textContent ?? "");
}
