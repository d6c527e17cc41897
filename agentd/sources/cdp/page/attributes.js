// attribute.changed: attributes that a rule names, and never those that a harness writes to mark elements.

import { openSlices } from "./slices.js";

const MOST = 500;
const LONGEST = 1000;
// BrowserGym, Playwright and other drivers, browser-use and its kin, WebVoyager-like marks.
export const HARNESS = new RegExp(
  "^(bid|data-testid|backend_node_id|bounding_box_rect|unique_id|tf623_id|aria-ref" +
    "|(browsergym_|browser-user-|data-browser-use-|nanobrowser-|data-skyvern|data-som|som-).*" +
    "|(__playwright|_pw|pw-|data-pw|data_pw).*)$",
);
// BrowserGym writes its mark before what stands in these, and a field's value and state into its attributes; what a
// field holds is told as field.filled.
const MARKED = /^(aria-roledescription|aria-description)$/;
const MARK = /^browsergym_id_\S+\s*/;
const STATE = /^(value|checked|selected)$/;

export function openAttributes({ say, describe }, names) {
  const heard = names.filter((name) => !HARNESS.test(name));
  const changed = new Map(); // element -> {attribute: value before}
  let lost = 0;
  const slices = openSlices(() => (changed.size || lost ? batch() : null));

  function* batch() {
    for (const [element, before] of changed) {
      changed.delete(element);
      for (const [name, old] of Object.entries(before)) {
        const value = read(name, element.getAttribute(name));
        if (value === old || !element.isConnected) continue;
        say("attribute.changed", { element: describe(element), attribute: name, value: cut(value), before: cut(old) });
      }
      yield;
    }
    if (lost) say("dropped", { count: lost, of: ["attribute.changed"] });
    lost = 0;
  }

  const observer = new MutationObserver((records) => {
    for (const { target, attributeName: name, oldValue } of records) {
      if (STATE.test(name) && name in target) continue;
      const before = changed.get(target);
      if (before) {
        if (!(name in before)) before[name] = read(name, oldValue);
      } else if (changed.size < MOST) changed.set(target, { [name]: read(name, oldValue) });
      else lost += 1;
    }
    slices.soon();
  });

  return {
    watch(root) {
      if (heard.length) observer.observe(root, { subtree: true, attributeFilter: heard, attributeOldValue: true });
    },
    flush: slices.flush,
    get behind() {
      return slices.behind ? ["attribute.changed"] : [];
    },
    close() {
      observer.disconnect();
      slices.close();
    },
  };
}

function read(name, value) {
  return value !== null && MARKED.test(name) ? value.replace(MARK, "") || null : value;
}

function cut(value) {
  return value === null ? null : value.slice(0, LONGEST);
}
