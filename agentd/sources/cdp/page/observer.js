// Runs in an isolated world of every frame: hears what the person or the agent does, changes nothing.
// The daemon replaces the configuration's placeholder: {binding, salt, kinds, attributes, mask, initial}.

import { openChannel } from "./channel.js";
import { clickedElement, describe } from "./element.js";
import { formState, isField, openFields } from "./fields.js";
import { openSecrets } from "./secrets.js";
import { openTab } from "./tab.js";
import { openText } from "./text.js";
import { openTitle } from "./title.js";
import { openTrust } from "./trust.js";

const INPUT_WAIT_MS = 30;

function observe(config) {
  const channel = openChannel(config.binding);
  const say = channel.say;
  const secrets = openSecrets(say, config.salt);
  const fields = openFields(say, secrets);
  const text = config.kinds.includes("text.appeared") ? openText(say) : null;
  const title = window === window.top ? openTitle(say) : null;
  const tab = window === window.top ? openTab(say, config.initial) : null;
  const trust = openTrust();
  const typed = new Map(); // element -> trusted; input events wait here to be told as one
  const roots = new Set(); // shadow roots seen so far
  const watchers = [];
  const existing = document.readyState !== "loading" && config.initial;
  let timer = null;

  function flushTyped() {
    clearTimeout(timer);
    timer = null;
    const told = Array.from(typed);
    typed.clear();
    for (const [element, trusted] of told) fields.report(element, { trusted });
  }

  function watch(root) {
    watchers.push(secrets.watch(root));
    if (text) watchers.push(text.watch(root));
  }

  function meet(path) {
    for (const node of path) {
      if (!(node instanceof ShadowRoot) || roots.has(node)) continue;
      roots.add(node);
      watch(node);
      node.addEventListener("change", onChange, true); // a change event does not leave its shadow tree
    }
  }

  function onClick(event) {
    if (event.button > 1) return; // the context menu's button; the middle one opens links
    trust.begin(event);
    flushTyped();
    const path = event.composedPath();
    meet(path);
    for (const field of document.querySelectorAll("input[type=password]")) secrets.isSecret(field);
    const element = clickedElement(path);
    if (element) say("element.clicked", { element: describe(element, secrets), trusted: event.isTrusted });
  }

  function fieldOf(event) {
    const path = event.composedPath();
    meet(path);
    return path.find((node) => node.nodeType === 1 && isField(node)) || null;
  }

  function onInput(event) {
    trust.begin(event);
    const element = fieldOf(event);
    if (!element) return;
    secrets.isSecret(element);
    typed.set(element, event.isTrusted);
    if (timer === null) timer = setTimeout(flushTyped, INPUT_WAIT_MS);
  }

  const told = new WeakSet(); // change events inside a shadow tree can be heard twice
  function onChange(event) {
    if (told.has(event)) return;
    told.add(event);
    trust.begin(event);
    const element = fieldOf(event);
    if (!element) return;
    typed.delete(element);
    flushTyped();
    fields.reportUnmarked(element, { trusted: event.isTrusted });
    fields.report(element, { trusted: event.isTrusted, commit: true });
  }

  function onSubmit(event) {
    flushTyped();
    const path = event.composedPath();
    meet(path);
    const form = path.find((node) => node.localName === "form");
    if (form) say("form.submitted", { ...formState(form, event.submitter, secrets), trusted: trust.now });
  }

  const listeners = {
    click: onClick,
    auxclick: onClick,
    input: onInput,
    change: onChange,
    submit: onSubmit,
    keydown: trust.begin,
    keypress: trust.begin,
    pointerup: trust.begin,
    pagehide: flush,
    load: reportStanding,
    pageshow: reportStanding,
  };

  function listen() {
    for (const [type, listener] of Object.entries(listeners)) addEventListener(type, listener, true);
    document.addEventListener("DOMContentLoaded", onDocument, true);
    tab?.listen();
  }

  function reportStanding(event) {
    if (event && event.target !== document && event.target !== window) return; // an image's load
    flushTyped(); // what somebody typed while the page was loading did not stand there
    fields.reportStanding(document);
    for (const root of roots) fields.reportStanding(root);
    if (text && document.body) text.report(document.body, existing ? { baseline: true } : {});
    channel.drain();
  }

  function onDocument() {
    title?.flush();
    meetAll(document);
    reportStanding();
  }

  function meetAll(root) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (!node.shadowRoot || roots.has(node.shadowRoot)) continue;
      meet([node.shadowRoot]);
      meetAll(node.shadowRoot);
      if (text) for (const child of node.shadowRoot.children) text.report(child, existing ? { baseline: true } : {});
    }
  }

  function flush() {
    flushTyped();
    if (text) text.flush();
    title?.flush();
    tab?.flush();
    channel.drain();
  }

  function close() {
    for (const [type, listener] of Object.entries(listeners)) removeEventListener(type, listener, true);
    for (const watcher of watchers) watcher.disconnect();
    title?.disconnect();
    tab?.close();
    trust.close();
  }

  listen();
  watch(document);
  // document.open() takes all listeners off the window; a new root element tells of it.
  const reopened = new MutationObserver(listen);
  reopened.observe(document, { childList: true });
  watchers.push(reopened);
  if (document.readyState !== "loading") onDocument();
  return { document, flush, close };
}

// A window is kept when its first, empty document gives way to the real one: begin anew for each document.
const config = "__MILESTONED_CONFIG__";
const slot = `${config.binding}_observer`;
const standing = globalThis[slot];
if (!standing || standing.document !== document) {
  if (standing) standing.close();
  Object.defineProperty(globalThis, slot, { configurable: true, value: observe(config) });
}
