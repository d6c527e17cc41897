// Whether a person could see the text field in which somebody writes, were the page scrolled to it.
//
// Boxes, radios, selects, files, dates and colours are not looked at: pages draw those themselves and lay the real
// control, transparent or tiny, over or under what they drew. A field that something else covers counts as seen: lists
// of suggestions, sticky headers and banners cover honest ones.

import { parentOf } from "./element.js";
import { isEditingHost } from "./role.js";

const WRITTEN_IN = new Set(["text", "search", "email", "url", "tel", "password", "number"]);
const SMALLEST = 2; // CSS pixels a side; a library's field that grows with its text may begin with two
const FAINTEST = 0.05; // opacity
const MOST_FRAMES = 20;
// Overflow does not apply to these.
const WITHOUT_OVERFLOW = /^(inline|contents|table-row|table-column|table-(row|column|header|footer)-group)$/;
const TOP_LAYER = ":is(:modal, :popover-open, :fullscreen)";
const PARTS = [0.1, 0.3, 0.5, 0.7, 0.9];
const AXES = [
  { overflow: "overflowX", from: "left", to: "right", size: "width" },
  { overflow: "overflowY", from: "top", to: "bottom", size: "height" },
];

export function isOutOfSight(field) {
  return isWrittenIn(field) && isUnseen(field);
}

// Of any element, whether a person could see it, were the page scrolled to it.
export function isUnseen(field) {
  if (window !== window.top && (innerWidth < SMALLEST || innerHeight < SMALLEST)) return true;
  // Of a frame in a document of another origin nothing is known.
  let [element, view] = [field, window];
  for (let n = 0; element && n < MOST_FRAMES; n++) {
    if (isUnseenIn(element, view)) return true;
    element = view.frameElement;
    if (typeof element?.checkVisibility !== "function") return false;
    view = element.ownerDocument.defaultView;
  }
  return false;
}

function isWrittenIn(field) {
  if (field.localName === "input") return WRITTEN_IN.has(field.type);
  return field.localName === "textarea" || isEditingHost(field);
}

function isUnseenIn(element, view) {
  if (!element.checkVisibility({ visibilityProperty: true })) return true;
  const box = element.getBoundingClientRect();
  if (isTiny(box)) return true;
  const around = Array.from(chainOf(element), (one) => [one, getComputedStyle(one)]);
  if (around.reduce((opacity, [, style]) => opacity * opacityOf(style), 1) < FAINTEST) return true;
  if (!view.innerWidth || !view.innerHeight) return false; // a window that was never laid out
  if (isTiny(reachable(box, around, view))) return true;
  const isCut = around.some(([, style]) => style.clipPath !== "none" || style.clip !== "auto");
  return isCut && isCutAway(element, box, view);
}

const isTiny = ({ left, right, top, bottom }) => !(right - left >= SMALLEST && bottom - top >= SMALLEST);

// The element and what it is painted within, to the root or to what is painted above all else.
function* chainOf(element) {
  for (let node = element; node; node = node.assignedSlot ?? parentOf(node)) {
    yield node;
    if (node.matches(TOP_LAYER)) return;
  }
}

function opacityOf({ opacity, filter }) {
  const [, filtered] = filter.match(/\bopacity\(([\d.e-]+)\)/) ?? [];
  return Number(opacity) * Number(filtered ?? 1);
}

// What of the box remains where it is cut off by what it stands in, each part that scrolls scrolled to it.
function reachable(box, [[element, style], ...around], view) {
  let left = { left: box.left, right: box.right, top: box.top, bottom: box.bottom };
  let { position } = style;
  const root = element.ownerDocument.documentElement;
  const shown = overflowOfView(root);
  for (const [node, how] of around) {
    if (node === root || node === shown.by) continue;
    const isFree = position === "fixed" || (position === "absolute" && how.position === "static");
    if (isFree && !holdsFixed(how)) continue;
    position = how.position;
    if (!WITHOUT_OVERFLOW.test(how.display)) left = within(left, frameOf(node, how), how);
  }
  const isFixed = position === "fixed";
  return within(left, frameOfView(element.ownerDocument, view, isFixed), isFixed ? CUT : shown.style);
}

const CUT = { overflowX: "hidden", overflowY: "hidden", contain: "none" };

// Whether what is `fixed` or `absolute` in it stays in it.
function holdsFixed(style) {
  return (
    [style.transform, style.translate, style.rotate, style.scale, style.perspective, style.filter, style.backdropFilter]
      .some((value) => value !== "none") ||
    /paint|layout|strict|content/.test(style.contain) ||
    style.contentVisibility === "auto" ||
    /transform|translate|rotate|scale|perspective|filter|contain/.test(style.willChange)
  );
}

function within(box, frame, style) {
  const kept = {};
  for (const { overflow, from, to, size } of AXES) {
    const how = style[overflow];
    let [begin, end] = [box[from], box[to]];
    if (how === "auto" || how === "scroll") {
      begin = Math.max(begin, frame.scroll[from]);
      end = Math.min(end, frame.scroll[to]);
      const length = Math.min(end - begin, frame[size]);
      begin = Math.min(Math.max(begin, frame[from]), frame[from] + frame[size] - length);
      end = begin + length;
    } else if (how !== "visible" || /paint|strict|content/.test(style.contain)) {
      begin = Math.max(begin, frame[from]);
      end = Math.min(end, frame[from] + frame[size]);
    }
    [kept[from], kept[to]] = [begin, end];
  }
  return kept;
}

// Where a part of the page shows what is in it, and where that would stand that it can be scrolled to.
function frameOf(node, style) {
  const box = node.getBoundingClientRect();
  if (typeof node.offsetWidth !== "number") return { ...plain(box), scroll: box }; // a drawing
  const x = node.offsetWidth ? box.width / node.offsetWidth : 1;
  const y = node.offsetHeight ? box.height / node.offsetHeight : 1;
  const frame = { left: box.left + node.clientLeft * x, top: box.top + node.clientTop * y,
    width: node.clientWidth * x, height: node.clientHeight * y };
  const begin = { left: frame.left - node.scrollLeft * x, top: frame.top - node.scrollTop * y };
  return { ...frame, scroll: scrolled(begin, frame, node.scrollWidth * x, node.scrollHeight * y, style) };
}

function frameOfView(page, view, isFixed) {
  const frame = { left: 0, top: 0, width: view.innerWidth, height: view.innerHeight };
  const scroller = page.scrollingElement ?? page.documentElement;
  if (isFixed) return frame;
  const begin = { left: -view.scrollX, top: -view.scrollY };
  const style = getComputedStyle(page.documentElement);
  return { ...frame, scroll: scrolled(begin, frame, scroller.scrollWidth, scroller.scrollHeight, style) };
}

// What is written or laid out backwards scrolls the other way as well.
function scrolled(begin, frame, width, height, style) {
  const isWrittenBackwards = style.direction === "rtl" || style.writingMode !== "horizontal-tb";
  const isBackwards = isWrittenBackwards || style.flexDirection.endsWith("reverse");
  const [x, y] = isBackwards ? [Math.max(0, width - frame.width), Math.max(0, height - frame.height)] : [0, 0];
  return { left: begin.left - x, top: begin.top - y, right: begin.left + width, bottom: begin.top + height };
}

const plain = ({ left, top, width, height }) => ({ left, top, width, height });

// What the root says of overflow is the window's; where it says nothing, what the body says. `by`: the body, if so.
function overflowOfView(root) {
  const style = getComputedStyle(root);
  const body = root.ownerDocument.body;
  const isBody = body && style.overflowX === "visible" && style.overflowY === "visible";
  const { overflowX, overflowY } = isBody ? getComputedStyle(body) : style;
  const ofView = (overflow) => (overflow === "visible" ? "auto" : overflow);
  const shown = { overflowX: ofView(overflowX), overflowY: ofView(overflowY), contain: "none" };
  return { by: isBody ? body : null, style: shown };
}

// Of what is cut to a shape: whether none of its points in the window is left. What can't be pointed at has none.
function isCutAway(element, box, view) {
  if (getComputedStyle(element).pointerEvents === "none") return true;
  const root = element.getRootNode();
  const [left, top] = [Math.max(box.left, 0), Math.max(box.top, 0)];
  const [width, height] = [Math.min(box.right, view.innerWidth) - left, Math.min(box.bottom, view.innerHeight) - top];
  if (width <= 0 || height <= 0) return false; // it stands outside of the window now
  const isThere = (x, y) => root.elementsFromPoint(left + width * x, top + height * y).includes(element);
  return !PARTS.some((x) => PARTS.some((y) => isThere(x, y)));
}
