// What a custom element says of itself by its ElementInternals (`role`, `ariaLabel`, `ariaLabelledByElements`), which no
// script but its own can read. The browser's own tree has it: what a person's click may have gone to waits until the
// daemon has looked there (agentd/sources/cdp/attach/element_internals.py). What was given so may have been another before the
// page's handlers ran: the event then says in `unread` which parts of its element are not known. What a document has not
// told as it is left the daemon tells, from what it was given first.

import { INTERACTIVE, OTHER_ROLES, roleOf } from "./role.js";

const MOST_HOSTS = 3;
const MOST_WAITING = 50; // events
const PLAIN = new Set(["generic", "genericcontainer", "none"]);
const NOT_KNOWN = { isControl: false, unread: ["name", "role"] };
const READ = { isControl: false, unread: [] };

export function openInternals({ say }) {
  const waiting = []; // {token, kind, candidates: [{element, told}], left: the hosts of which nothing is known yet, found}
  let asked = [];
  let count = 0;

  // The first that is a control is what was clicked, as in clickedElement; else what was taken for it.
  function finish({ token, kind, candidates, found }) {
    const about = ({ element }) => found.get(element) ?? READ;
    const chosen = candidates.find((one) => about(one).isControl) ?? candidates[candidates.length - 1];
    const isUnknown = candidates.some((one) => about(one) === NOT_KNOWN);
    const { unread } = isUnknown ? NOT_KNOWN : about(chosen);
    say("event_released", { token });
    say(kind, unread.length ? { ...chosen.told, unread } : chosen.told);
  }

  function settle(host, read) {
    for (const one of waiting) {
      if (one.left.delete(host)) one.found.set(host, read);
    }
    while (waiting.length && !waiting[0].left.size) finish(waiting.shift());
  }

  return {
    // Those on an event's path that may be what was clicked, and of which their attributes don't say all.
    hostsOf(path, element) {
      const elements = path.filter((node) => node.nodeType === 1);
      const end = INTERACTIVE.has(roleOf(element)) ? elements.indexOf(element) + 1 : elements.length;
      return elements.slice(0, end).filter(isUnsaid).slice(0, MOST_HOSTS);
    },
    // candidates: [{element, told}], the last is what was taken for the clicked one.
    tell(kind, candidates, hosts) {
      count += 1;
      waiting.push({ token: count, kind, candidates, left: new Set(hosts), found: new Map() });
      asked.push(...hosts);
      say("event_held", { token: count, kind, event: candidates[candidates.length - 1].told });
      if (waiting.length > MOST_WAITING) for (const host of waiting[0].left) settle(host, NOT_KNOWN);
    },
    // For the daemon: the elements since the last call.
    take() {
      const taken = asked;
      asked = [];
      return taken;
    },
    // The daemon's word: the role in the browser's tree, null where it is not in there; `named`: by a label.
    answer(host, role, named) {
      settle(host, host.isConnected && role !== null ? readInternals(host, role.toLowerCase(), named) : NOT_KNOWN);
    },
    // The document is left: the daemon tells the rest.
    forget() {
      waiting.length = 0;
      asked = [];
    },
    get isBehind() {
      return waiting.length > 0;
    },
  };
}

function isUnsaid(element) {
  if (!element.localName.includes("-") || !element.matches(":defined")) return false;
  return !isLabelled(element) || roleOf(element) === "generic";
}

function isLabelled(element) {
  return element.hasAttribute("aria-label") || element.hasAttribute("aria-labelledby");
}

function readInternals(host, role, named) {
  const isRole = roleOf(host) === "generic" && !PLAIN.has(role);
  if (isRole) return { isControl: !OTHER_ROLES.has(role), unread: NOT_KNOWN.unread };
  return named && !isLabelled(host) ? { isControl: false, unread: ["name"] } : READ;
}
