// The place in the episode: a scrubber below the curve, and a clock that moves it. The scrubber counts steps, so that it
// stands below the curve's cursor; the clock counts the episode's own milliseconds.

const scrub = document.getElementById("scrub");
const play = document.getElementById("play");
const speed = document.getElementById("speed");
const place = document.getElementById("place");
let at = 0; // ms since the episode opened
let before = 0;
let own = false; // the scrubber moves the step, not the other way round

const steps = () => lanes.spans().filter((span) => span.dataset.step !== "opening" && span.dataset.at !== undefined);
const end = () => Math.max(...lanes.spans().map((span) => Number(span.dataset.until ?? 0)));

function fit() {
  const curve = document.getElementById("curve");
  const known = steps();
  scrub.max = Math.max(1, known.length);
  scrub.disabled = play.disabled = known.length === 0;
  if (!curve.dataset.slot) return;
  const { left, slot } = curve.dataset;
  const all = Number(curve.dataset.slots);
  scrub.style.marginLeft = `${100 * left}%`;
  scrub.style.width = `${100 * Math.max(slot * Math.max(known.length, 1), (1 - left) * 0.1)}%`;
  scrub.dataset.all = all;
}
lanes.fit = fit;

// The step at a time, and how much of it is over.
function stepAt(ms) {
  const known = steps();
  let low = 0;
  let high = known.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (Number(known[middle].dataset.at) <= ms) low = middle;
    else high = middle - 1;
  }
  const [from, until] = bounds(known, low);
  return { index: low, span: known[low], part: Math.min(1, Math.max(0, (ms - from) / Math.max(1, until - from))) };
}

function bounds(known, index) {
  const from = Number(known[index].dataset.at);
  return [from, Number(known[index + 1]?.dataset.at ?? Math.max(from + 1, Number(known[index].dataset.until)))];
}

function told(span) {
  const all = steps().length;
  const key = span.dataset.step === "opening" ? "before the first step" : `step ${span.dataset.step} of ${all}`;
  place.textContent = `${key} · ${(at / 1000).toFixed(1)} s of ${(end() / 1000).toFixed(1)} s`;
}

function show({ index, span, part }) {
  scrub.value = index + part;
  scrub.setAttribute("aria-valuetext", `step ${span.dataset.step}`);
  if (span !== lanes.chosen) {
    own = true;
    lanes.choose(span, { at });
    own = false;
  }
  lanes.cursor(span, part - 0.5);
  told(span);
  document.dispatchEvent(new CustomEvent("clock", { detail: { at } }));
}

document.addEventListener("chosen", ({ detail }) => {
  if (own) return;
  at = detail.at || 0;
  const index = steps().indexOf(detail.span);
  scrub.value = Math.max(0, index);
  told(detail.span);
  document.dispatchEvent(new CustomEvent("clock", { detail: { at: Number(detail.span.dataset.until ?? at) } }));
});

scrub.addEventListener("input", () => {
  const known = steps();
  const index = Math.min(known.length - 1, Math.floor(scrub.value));
  const [from, until] = bounds(known, index);
  at = from + (scrub.value - index) * (until - from);
  show({ index, span: known[index], part: scrub.value - index });
});

function tick(now) {
  if (!lanes.playing) return;
  at = Math.min(end(), at + (now - before) * Number(speed.value));
  before = now;
  show(stepAt(at));
  if (at >= end()) toggle();
  else requestAnimationFrame(tick);
}

function toggle() {
  if (!lanes.playing && at >= end() - 1) at = Number(steps()[0].dataset.at);
  lanes.playing = !lanes.playing;
  play.textContent = lanes.playing ? "Pause" : "Play";
  play.setAttribute("aria-pressed", lanes.playing);
  before = performance.now();
  if (lanes.playing) requestAnimationFrame(tick);
  else document.dispatchEvent(new CustomEvent("clock", { detail: { at } }));
}

play.addEventListener("click", toggle);
document.getElementById("before").addEventListener("click", () => lanes.move(-1));
document.getElementById("next").addEventListener("click", () => lanes.move(1));
fit();
