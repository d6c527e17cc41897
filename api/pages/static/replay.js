// Inside the frame that shows a replay: rrweb's player for each tab, moved by the page around it.

const said = document.getElementById("said");
const stage = document.getElementById("stage");
const tabs = new Map(); // tab -> {events, player, root, active: times at which it was in use}
const expected = new Map(); // stream -> the number of its next message
const DRIFT_MS = 1500;
let wanted = { at: 0, playing: false, speed: 1 };
let timer = 0;

async function load() {
  for (let after = 0; after !== null; ) {
    const answer = await fetch(`${document.body.dataset.source}?after=${after}`);
    if (!answer.ok) throw new Error(answer.statusText);
    const { told, next } = await answer.json();
    for (const { tab, stream, n, events } of told) {
      // What follows a lost message would be shown on a document that is another.
      if ((expected.get(stream) ?? 0) !== n) continue;
      expected.set(stream, n + 1);
      if (!tabs.has(tab)) tabs.set(tab, { events: [], active: [], player: null });
      const of = tabs.get(tab);
      of.events.push(...events);
      for (const one of events) if (one.type === 2 || (one.type === 3 && one.data.source === 2)) of.active.push(one.timestamp);
    }
    after = next;
  }
  for (const [tab, of] of tabs) if (!of.events.some((one) => one.type === 2)) tabs.delete(tab);
  said.textContent = tabs.size ? "" : "Nothing of it can be shown.";
  show();
}

function open(of) {
  of.root = document.createElement("div");
  of.root.className = "tab";
  stage.append(of.root);
  const last = of.events.at(-1);
  // The player wants an event beyond the last one to hold the picture still.
  const events = [...of.events, { type: 3, data: { source: 3, id: -1, x: 0, y: 0 }, timestamp: last.timestamp + 1 }];
  of.player = new rrwebReplay.Replayer(events, { root: of.root, mouseTail: false, showWarning: false, skipInactive: false });
  of.player.on("resize", () => fit(of));
  fit(of);
}

function fit(of) {
  const frame = of.root.querySelector("iframe");
  const wrapper = of.root.querySelector(".replayer-wrapper");
  const scale = Math.min(innerWidth / (frame.width || 1), innerHeight / (frame.height || 1));
  wrapper.style.transform = `scale(${scale})`;
}

// The tab that was in use last, up to a time; before the first, the first.
function front(at) {
  let best = null;
  for (const of of tabs.values()) {
    const used = of.active.filter((time) => time <= at).at(-1) ?? -1;
    if (!best || used > best.used) best = { of, used };
  }
  return best?.of;
}

function show() {
  const of = front(wanted.at);
  if (!of) return;
  if (!of.player) open(of);
  for (const other of tabs.values()) {
    if (other.root) other.root.hidden = other !== of;
    if (other !== of && other.runs) { other.runs = false; other.player.pause(); }
  }
  const start = of.events[0].timestamp;
  const offset = Math.max(0, wanted.at - start);
  if (!wanted.playing) {
    of.runs = false;
    of.player.pause(offset);
    return;
  }
  if (of.speed !== wanted.speed) of.player.setConfig({ speed: (of.speed = wanted.speed) });
  if (of.runs && Math.abs(of.player.getCurrentTime() - offset) < DRIFT_MS * wanted.speed) return;
  of.runs = true;
  of.player.play(offset);
}

addEventListener("message", (event) => {
  if (event.source !== parent || event.origin !== location.origin) return;
  wanted = event.data;
  clearTimeout(timer);
  timer = setTimeout(show, wanted.playing ? 0 : 60);
});
addEventListener("resize", () => { for (const of of tabs.values()) if (of.player) fit(of); });
load().catch((error) => (said.textContent = `The replay could not be loaded: ${error.message}`));
