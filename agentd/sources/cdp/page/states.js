// element.state_changed: how an element stands that a task names: seen, in view, checked, expanded, selected, pressed,
// disabled, its classes.

import { below } from "./appearing.js";
import { HARNESS } from "./attributes.js";
import { parentOf } from "./element.js";
import { roleOf } from "./role.js";
import { isSelector } from "./selectors.js";
import { isUnseen } from "./sight.js";

const KIND = "element.state_changed";
const MOST_CLASSES = 20;
const LONGEST_CLASS = 100;
const DRAWN_BY_PAGES = "input:is([type=checkbox], [type=radio], [type=file])";
const MARKED = "input:is([type=checkbox], [type=radio])";
const TRUTH = { true: true, false: false };

// asked: [{selector?, roles?, id?}]; of an item with none of these, every element that has an id or is a control.
export function openStates({ say, describe, secrets }, asked, isControl) {
  const selectors = new Set(asked.flatMap(({ selector }) => selector ?? []));
  const others = asked.filter(({ selector }) => !selector);
  const last = new WeakMap(); // element -> how it was named last
  const broken = [...selectors].filter((selector) => !isSelector(selector));
  for (const selector of broken) selectors.delete(selector);

  function isAsked(element) {
    return others.some(({ roles, id }) => {
      if (id) return element.getAttribute("id")?.trim().toLowerCase() === id.trim().toLowerCase();
      if (roles) return roles.includes(roleOf(element));
      return element.hasAttribute("id") || isControl(roleOf(element));
    });
  }

  const matched = (element) => [...selectors].filter((selector) => element.matches(selector));

  function states(element) {
    const seen = isSeen(element);
    const found = { visible: seen, in_view: seen && isInView(element) };
    for (const [name, read] of Object.entries(READ)) {
      const state = read(element);
      if (typeof state === "boolean") found[name] = state;
    }
    return found;
  }

  function read(element) {
    const described = describe(element);
    const classes = (element.getAttribute("class") ?? "").split(/\s+/).filter((one) => one).slice(0, MOST_CLASSES);
    const found = { element: described, ...states(element) };
    if (classes.length) found.classes = classes.map((one) => secrets.hideIn(one.slice(0, LONGEST_CLASS)));
    if (selectors.size) found.selectors = matched(element);
    last.set(element, { element: described, ...(selectors.size && { selectors: found.selectors }) });
    return found;
  }

  return {
    kind: KIND,
    *find(root) {
      if (!others.length) return;
      for (const element of below(root)) yield isAsked(element) ? element : null;
    },
    *select(root) {
      // What a selector that can't be read would have found, nobody knows.
      if (broken.length && root === document) say("dropped", { count: broken.length, of: [KIND] });
      for (const selector of selectors) yield* root.querySelectorAll(selector);
    },
    base(element) {
      const { role, name, id, attr_name: own, path } = describe(element);
      return [id ?? own ?? path ?? name ?? "", role, element.localName].join("/");
    },
    // Its name and text are looked at only where it is told.
    print: (element) => JSON.stringify([states(element), element.getAttribute("class"), matched(element)]),
    read,
    gone: (element) => ({ element: describe(element), ...last.get(element), visible: false, in_view: false, gone: true }),
  };
}

// The attributes that selectors go by, to be listened to.
export function namedAttributes(asked) {
  const found = asked.flatMap(({ selector }) => [...(selector ?? "").matchAll(/\[\s*([\w-]+)/g)].map(([, name]) => name));
  return found.filter((name) => !HARNESS.test(name));
}

const READ = {
  checked: (element) => {
    if (element.matches(MARKED)) return element.matches(":indeterminate:not([type=radio])") ? null : element.matches(":checked");
    return TRUTH[element.getAttribute("aria-checked")];
  },
  expanded: (element) => {
    if (element.localName === "details" || element.localName === "dialog") return element.hasAttribute("open");
    if (element.matches("details > summary")) return element.matches("details[open] > summary");
    return TRUTH[element.getAttribute("aria-expanded")];
  },
  selected: (element) =>
    element.localName === "option" ? element.matches(":checked") : TRUTH[element.getAttribute("aria-selected")],
  pressed: (element) => TRUTH[element.getAttribute("aria-pressed")],
  disabled: (element) => {
    if (element.matches(":disabled") || element.closest("[aria-disabled=true]")) return true;
    return element.matches(":enabled") || element.hasAttribute("aria-disabled") ? false : null;
  },
};

// Of what pages draw themselves, its label will do; an option stands where its list does.
function isSeen(element) {
  if (!isUnseen(element)) return true;
  if (element.matches("option, optgroup")) {
    const list = element.closest("select, datalist");
    return list !== null && !isUnseen(list);
  }
  if (!element.matches(DRAWN_BY_PAGES)) return false;
  return [...(element.labels ?? [])].some((label) => !isUnseen(label));
}

// Whether at least half of it, or of what it stands in, shows without scrolling; in its own frame.
function isInView(element) {
  const whole = element.getBoundingClientRect();
  let shown = cut(whole, { left: 0, top: 0, right: innerWidth, bottom: innerHeight });
  let room = { width: innerWidth, height: innerHeight };
  for (let node = parentOf(element); node && node !== document.body; node = parentOf(node)) {
    if (node === document.documentElement) break;
    const { overflowX, overflowY } = getComputedStyle(node);
    if (overflowX === "visible" && overflowY === "visible") continue;
    const box = node.getBoundingClientRect();
    shown = cut(shown, box);
    room = { width: Math.min(room.width, box.width), height: Math.min(room.height, box.height) };
  }
  const [width, height] = [shown.right - shown.left, shown.bottom - shown.top];
  if (width <= 0 || height <= 0) return false;
  return width >= Math.min(whole.width, room.width) / 2 && height >= Math.min(whole.height, room.height) / 2;
}

function cut(box, frame) {
  return {
    left: Math.max(box.left, frame.left), top: Math.max(box.top, frame.top),
    right: Math.min(box.right, frame.right), bottom: Math.min(box.bottom, frame.bottom),
  };
}
