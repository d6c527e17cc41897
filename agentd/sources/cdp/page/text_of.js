// An element's own visible text, short, and only where the layout that it needs is cheap.

const LONGEST = 200;
const TOO_MUCH_TO_LAY_OUT = 5000;

export const isTooMuch = (element) => (element.textContent || "").length > TOO_MUCH_TO_LAY_OUT;

export function textOf(element) {
  if (/^(input|textarea|select|html|body)$/.test(element.localName)) return "";
  const whole = element.textContent || "";
  if (!whole || isTooMuch(element)) return "";
  const text = typeof element.innerText === "string" ? element.innerText : whole;
  return text.replace(/\s+/g, " ").trim().slice(0, LONGEST);
}
