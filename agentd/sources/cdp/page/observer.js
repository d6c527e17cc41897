// Runs in an isolated world of every frame: hears what the person or the agent does, changes nothing.
// The daemon replaces the configuration's placeholder: {binding, salt, kinds, attributes, elements, around, aroundFields, points, selectors, names, initial}.
// What is not among `kinds` has no listener and no observer here.

import { openAppearing } from "./appearing.js";
import { openAttributes } from "./attributes.js";
import { openChanges } from "./changes.js";
import { openChannel } from "./channel.js";
import { openClipboard } from "./clipboard.js";
import { nameSafely } from "./dom.js";
import { openDragging } from "./dragging.js";
import { openDropping } from "./dropping.js";
import { describe } from "./element.js";
import { openFilling } from "./filling.js";
import { openFocus } from "./focus.js";
import { openListening } from "./listening.js";
import { openOpaque } from "./opaque.js";
import { openInternals } from "./element_internals.js";
import { openPointer } from "./pointer.js";
import { INTERACTIVE, roleOf } from "./role.js";
import { openRoots } from "./roots.js";
import { openScrolling } from "./scrolling.js";
import { openSecrets } from "./secrets.js";
import { openSelection } from "./selection.js";
import { openSelectors } from "./selectors.js";
import { openShown } from "./shown.js";
import { openStanding } from "./standing.js";
import { namedAttributes, openStates } from "./states.js";
import { openTab } from "./tab.js";
import { openText } from "./text.js";
import { openTitle } from "./title.js";
import { openToggles } from "./toggles.js";
import { takeTree } from "./tree.js";
import { openTrust } from "./trust.js";
import { openWatched } from "./watched.js";

const CLOSED = ["changes", "attributes", "watched", "title", "tab"];
const FLUSHED = ["pressing", "dropping", "dragging", "clipboard", "selection", "filling", ...CLOSED];

function observe(config) {
  const channel = openChannel(config.binding);
  const kinds = new Set(config.kinds);
  const secrets = openSecrets(channel.say, config.salt, config.names);
  const trust = openTrust();
  const listening = openListening(trust, () => channel.say("dropped", { count: 1, of: config.kinds }));
  const standing = openStanding(listening, channel.say, config.kinds);
  const roots = openRoots(enter);
  const context = {
    on: listening.on,
    listenTo: listening.listenTo,
    say: channel.say,
    wants: (...names) => names.some((name) => kinds.has(name)),
    describe: (element) => describe(element, secrets),
    around: config.around,
    aroundFields: config.aroundFields,
    points: config.points,
    selectors: openSelectors(config.selectors),
    secrets,
    trust,
    roots,
    hidden: standing.report,
    internals: openInternals(channel),
  };
  const parts = open(context, config, kinds);
  const existing = document.readyState !== "loading" && config.initial;

  function enter(root) {
    listening.listenIn(root);
    parts.changes?.watch(root);
    parts.attributes?.watch(root);
    parts.watched?.watch(root);
    parts.watched?.enter(root);
  }

  function listen() {
    listening.listen();
    parts.tab?.listen();
    parts.watched?.listen();
    document.addEventListener("DOMContentLoaded", onDocument, true);
  }

  function reportStanding() {
    parts.filling.reportStanding();
    parts.opaque.look();
    if (parts.changes && document.documentElement) {
      for (const part of parts.seen) if (existing) part.asBaseline();
      parts.changes.note(document.documentElement);
      parts.changes.flush();
    }
    parts.watched?.reportStanding(existing);
    channel.drain();
  }

  function onDocument() {
    parts.title?.flush();
    roots.find(document, parts.opaque.custom);
    reportStanding();
  }

  // Tells what waits, as far as that goes at once; gives the kinds of which more is to be told.
  function flush() {
    trust.flush();
    for (const name of FLUSHED) parts[name]?.flush();
    observer.visual?.flush();
    standing.look();
    channel.drain();
    return [...(parts.changes?.behind ?? []), ...(parts.attributes?.behind ?? []), ...(parts.watched?.behind ?? []), ...standing.behindWith(parts.opaque.isBehind || context.internals.isBehind)];
  }

  function close() {
    listening.close();
    for (const name of CLOSED) parts[name]?.close();
    observer.visual?.close();
    reopened.disconnect();
    trust.close();
  }

  const { takeSuspects } = parts.opaque;
  // `root`: the closed shadow root of `element`, if it has one.
  function judge(element, isClosed, root) {
    parts.opaque.judge(element, isClosed);
    if (!root || !parts.watched) return;
    roots.find(root, parts.opaque.custom);
    parts.watched.enterClosed(root);
  }

  // `visual` comes with a script of its own, where it is wanted: page/visual.js.
  const observer = {
    document, flush, close, takeSuspects, judge, secrets, say: channel.say, describe: context.describe,
    answerStanding: standing.answer, takeHosts: context.internals.take, answerHost: context.internals.answer, takeTree: (most) => takeTree(secrets, most),
  };
  if (!config.initial && navigator.userActivation?.hasBeenActive) channel.say("late", {}); // somebody acted here unheard
  listening.on("pagehide", (event) => {
    flush();
    context.internals.forget();
    if (event.isTrusted && window === top) channel.sayNow("left"); // it comes only from a tab that is closed
    if (event.persisted && event.isTrusted) channel.pause();
  });
  listening.on("load pageshow", (event) => {
    if (event.target !== document && event.target !== window) return; // an image loads too
    if (event.type === "pageshow" && event.persisted) parts.watched?.forget();
    onDocument();
  });
  listen();
  parts.changes?.watch(document);
  parts.attributes?.watch(document);
  parts.watched?.watch(document);
  // document.open() takes all listeners off the window; a new root element tells of it.
  const reopened = new MutationObserver(() => {
    if (listening.isStanding) return;
    listen();
    standing.ask();
    if (document.readyState !== "loading") onDocument();
  });
  reopened.observe(document, { childList: true });
  // A document that has a root already may have listeners as well.
  if (!config.initial && document.documentElement) standing.ask();
  if (document.readyState !== "loading") onDocument();
  return observer;
}

// The senses, in the order in which they hear one event.
function open(context, config, kinds) {
  const { on, secrets, roots, wants } = context;
  on("pointerdown click keydown focus", (event) => {
    roots.meetOn(event);
    for (const root of roots.all()) secrets.look(root, event);
  });
  const parts = { filling: openFilling(context), opaque: openOpaque(context, () => context.hidden(1)) };
  on("pointerdown click auxclick", (event) => parts.filling.flushChanged(event));
  if (wants("element.toggled")) openToggles(context);
  parts.pressing = openPointer(context);
  if (wants("element.focused")) openFocus(context);
  if (wants("element.dropped")) {
    parts.dropping = openDropping(context);
    parts.dragging = openDragging(context);
  }
  parts.clipboard = openClipboard(context);
  if (wants("text.selected")) parts.selection = openSelection(context);
  if (wants("page.scrolled")) openScrolling(context);
  parts.seen = [];
  if (wants("text.appeared", "text.disappeared")) parts.seen.push(openText(context));
  if (wants("element.appeared", "element.disappeared")) parts.seen.push(openAppearing(context, roleOf));
  if (parts.seen.length) parts.changes = openChanges(context, parts.seen);
  if (wants("attribute.changed")) parts.attributes = openAttributes(context, config.attributes);
  const readers = [];
  if (wants("element.state_changed")) {
    readers.push(openStates(context, config.elements, (role) => INTERACTIVE.has(role)));
  }
  if (wants("text.shown")) readers.push(openShown(context));
  if (readers.length) parts.watched = openWatched(context, readers, namedAttributes(config.elements));
  if (window === window.top) {
    parts.title = openTitle(context.say);
    parts.tab = openTab(context.say);
  }
  return parts;
}

// A window is kept when its first, empty document gives way to the real one: begin anew for each document.
const config = "__MILESTONED_CONFIG__";
nameSafely();
const slot = `${config.binding}_observer`;
const before = globalThis[slot];
if (!before || before.document !== document) {
  if (before) before.close();
  Object.defineProperty(globalThis, slot, { configurable: true, value: observe(config) });
}
