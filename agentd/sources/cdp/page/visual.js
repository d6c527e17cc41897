// What a page looks like, as rrweb's stream, for people to see again: only where the daemon was told --visual, and only
// of a tab's main frame. Recorded in the isolated world, where what rrweb wraps is wrapped for nobody else.
// The daemon replaces the configuration's placeholder: {slot}.

import { record } from "@rrweb/record";

const WAIT_MS = 250;
const MOST_CHARS = 4 << 20; // of one event: a larger document is not recorded
const BURST_CHARS = 8 << 20; // what may come at once, and then
const CHARS_A_SECOND = 512 << 10;
const REST_MS = 5000; // at least, after more than that

function openVisual({ say, secrets }) {
  let stream = "";
  let n = 0;
  let waiting = [];
  let held = 0; // characters that wait
  let timer = null;
  let left = BURST_CHARS;
  let counted = Date.now();
  let stop = null;
  let closed = false;
  let failed = null; // what came before record() had returned

  function begin() {
    failed = null;
    stream = crypto.getRandomValues(new Uint32Array(2)).join("-");
    n = 0;
    stop = record({
      emit,
      recordAfter: "DOMContentLoaded",
      // Heard on the document, `input` would come between an editor's change and the page's own listeners: what was
      // typed is looked at when a step ends, see flush().
      sampling: { input: "last", mousemove: 50, scroll: 150, media: 800 },
      maskAllInputs: true,
      maskInputFn: (text, element) => (element && secrets.isSecret(element) ? "*".repeat(Math.min(text.length, 12)) : text),
      maskTextSelector: "*",
      maskTextFn: (text) => secrets.hideIn(text),
      slimDOMOptions: { script: true, comment: true, headFavicon: true, headMetaSocial: true, headMetaRobots: true,
        headMetaHttpEquiv: true, headMetaAuthorship: true, headMetaVerification: true, headMetaDescKeywords: true },
    });
    if (failed) rest(...failed);
  }

  function emit(event) {
    const text = JSON.stringify(event);
    const now = Date.now();
    left = Math.min(BURST_CHARS, left + ((now - counted) / 1000) * CHARS_A_SECOND) - text.length;
    counted = now;
    if (text.length > MOST_CHARS) rest("the page is too large to be recorded", { again: false });
    else if (left < 0) rest("the page changes faster than it may be recorded");
    else if (!failed && (stop || !n)) {
      // What the daemon takes in one message is little more than the longest event.
      if (held + text.length > MOST_CHARS) send();
      waiting.push(text);
      held += text.length;
      timer ??= setTimeout(send, WAIT_MS);
    }
  }

  // Too much: nothing is recorded until there is room for a page again, and then the whole page first. One that is too
  // large would be so again, and looking at it takes the page's time.
  function rest(reason, { again = true } = {}) {
    if (!stop) {
      failed ??= [reason, { again }];
      return;
    }
    stop();
    stop = null;
    send();
    say("visual.lost", { reason });
    if (!again) return;
    const ms = Math.max(REST_MS, ((BURST_CHARS / 2 - left) / CHARS_A_SECOND) * 1000);
    setTimeout(() => closed || begin(), ms);
  }

  function send() {
    clearTimeout(timer);
    timer = null;
    if (!waiting.length) return;
    say("visual", { stream, n, now: Date.now(), events: `[${waiting.join(",")}]` });
    n += 1;
    waiting = [];
    held = 0;
  }

  // A field that is being typed into has told of nothing yet.
  function look() {
    let field = document.activeElement;
    while (field?.shadowRoot?.activeElement) field = field.shadowRoot.activeElement;
    if (!stop || !/^(input|textarea)$/.test(field?.localName ?? "") || record.mirror.getId(field) < 0) return;
    const secret = secrets.isSecret(field);
    const text = secret ? "*".repeat(Math.min(field.value.length, 12)) : field.value;
    const data = { source: 5, text, isChecked: field.checked === true, id: record.mirror.getId(field) };
    emit({ type: 3, data, timestamp: Date.now() });
  }

  begin();
  return {
    flush() {
      look();
      send();
    },
    close() {
      closed = true;
      stop?.();
      stop = null;
      send();
    },
  };
}

const config = "__MILESTONED_VISUAL__";
const observer = window === window.top ? globalThis[config.slot] : null;
if (observer && observer.document === document && !observer.visual) observer.visual = openVisual(observer);
