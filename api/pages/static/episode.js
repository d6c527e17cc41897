// The three lanes of an episode move together: a step that is chosen in one is shown in all. What is evidence of the
// milestone that somebody looks at is lit in all of them. Without this file every link asks for the page anew.

const page = document.getElementById("page");
const here = page.dataset.here;
const WIDTH = 960; // of the curve's sheet, in its own units
const SETTLE_MS = 120;
const $ = (id) => document.getElementById(id);

const lanes = {
  chosen: null,
  playing: false,
  evidence: new Set(),
  list: $("spans"),
  spans: () => Array.from(lanes.list.querySelectorAll(":scope > .span")),
  span: (key) => $(key === "close" ? "s-close" : `s-${key}`),
  choose,
  detail,
  light,
  fetchHtml,
};

async function fetchHtml(path) {
  const answer = await fetch(`${here}/${path}`, { headers: { accept: "text/html" } });
  if (answer.redirected) location.reload(); // logged out meanwhile
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
  return answer.text();
}

// Shows a step in every lane. `detail`: what the panel says (none: what it said before); `scroll`: come to it.
function choose(span, { say = `step=${span.dataset.step}`, scroll = true, at = Number(span.dataset.at) } = {}) {
  if (span !== lanes.chosen) {
    lanes.chosen?.querySelector(".step")?.removeAttribute("aria-current");
    span.querySelector(".step").setAttribute("aria-current", "step");
    lanes.chosen = span;
    picture(span);
  }
  if (scroll) scrollTo(span);
  cursor(span, 0);
  if (say) detail(say);
  document.dispatchEvent(new CustomEvent("chosen", { detail: { span, at } }));
}

function scrollTo(span) {
  const list = lanes.list.getBoundingClientRect();
  const box = span.getBoundingClientRect();
  if (box.top < list.top || box.top > list.bottom - 80) lanes.list.scrollTop += box.top - list.top;
}

// Where the curve's cursor stands: in the slot of the step, `part` of the way to the next.
function cursor(span, part) {
  const curve = $("curve");
  if (!curve?.dataset.slot) return;
  const slot = span.dataset.slot === undefined ? -9 : Number(span.dataset.slot) + 0.5 + part;
  const x = slot < 0 ? -9 : WIDTH * (Number(curve.dataset.left) + slot * Number(curve.dataset.slot));
  for (const name of ["x1", "x2"]) $("cursor").setAttribute(name, x);
}
lanes.cursor = cursor;

// The last screenshot that was taken up to the step.
function picture(span) {
  const figure = $("picture");
  if (!figure) return;
  let of = span;
  while (of && !of.dataset.picture) of = of.previousElementSibling;
  figure.hidden = !of;
  if (!of) return;
  const image = figure.querySelector("img");
  const address = `${here}/pictures/${of.dataset.picture}`;
  if (!image.src.endsWith(address)) image.src = address;
  const key = of.dataset.step === "opening" ? "before the first step" : `after step ${of.dataset.step}`;
  image.alt = `The screen ${key}`;
  figure.querySelector("figcaption").textContent = key;
}

let timer = 0;

function detail(query) {
  clearTimeout(timer);
  const ask = () => htmx.ajax("GET", `${here}/detail?${query}`, { source: "#why", target: "#detail", swap: "outerHTML" });
  timer = setTimeout(ask, lanes.playing ? SETTLE_MS : 0);
  history.replaceState(history.state, "", `${here}?${query}`);
}

$("why").addEventListener("htmx:after:swap", light);

// Marks what is evidence of what the panel tells: its lines, its steps, their slots in the curve, the picture.
function light() {
  lanes.evidence = new Set(($("detail").dataset.evidence || "").split(" ").filter(Boolean).map(Number));
  const seqs = Array.from(lanes.evidence);
  const within = (one) => seqs.some((seq) => seq >= Number(one.dataset.first ?? one.dataset.seq) && seq <= Number(one.dataset.last));
  const slots = [];
  for (const span of lanes.spans()) {
    const lit = within(span);
    span.classList.toggle("lit", lit);
    if (lit && span.dataset.slot !== undefined) slots.push(Number(span.dataset.slot));
  }
  for (const line of page.querySelectorAll(".line")) line.classList.toggle("lit", within(line));
  $("looks").classList.toggle("lit", lanes.chosen !== null && lanes.chosen.classList.contains("lit"));
  bands(slots);
}

function bands(slots) {
  const sheet = $("lit");
  if (!sheet) return;
  const { left, slot } = $("curve").dataset;
  sheet.replaceChildren(
    ...slots.map((place) => {
      const band = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      const at = { x: WIDTH * (Number(left) + place * slot), width: Math.max(2, WIDTH * slot), y: 6, height: 122 };
      for (const [name, value] of Object.entries(at)) band.setAttribute(name, value);
      return band;
    }),
  );
}

// -- by hand

document.addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  const link = event.target.closest("a[data-detail], a[data-step], a.step");
  if (link && page.contains(link)) {
    const span = lanes.span(link.dataset.step ?? link.closest(".span")?.dataset.step);
    if (!span && !link.dataset.detail) return;
    event.preventDefault();
    const say = link.dataset.detail ?? `step=${span.dataset.step}`;
    if (span) choose(span, { say });
    else detail(say);
    if (say.startsWith("event=")) show(Number(say.slice(6)));
    return;
  }
  const sheet = event.target.closest(".sheet svg");
  if (sheet) inCurve(sheet, event.clientX);
});

function inCurve(sheet, x) {
  const box = sheet.getBoundingClientRect();
  const { left, slot } = $("curve").dataset;
  const place = Math.floor(((x - box.left) / box.width - left) / slot);
  const span = lanes.spans().find((one) => one.dataset.slot === String(place));
  if (span) choose(span);
}

// Comes to the line of an event as soon as its window is there.
function show(seq) {
  const line = Array.from(lanes.list.querySelectorAll(".line")).find((one) => seq >= one.dataset.seq && seq <= one.dataset.last);
  if (line) line.scrollIntoView({ block: "nearest" });
  else document.addEventListener("window", () => show(seq), { once: true });
}

function move(by) {
  const spans = lanes.spans();
  const at = spans.indexOf(lanes.chosen);
  const next = spans[Math.min(Math.max(at + by, 0), spans.length - 1)];
  if (next && next !== lanes.chosen) choose(next);
}
lanes.move = move;

function moveToMilestone(by) {
  const spans = lanes.spans();
  const at = spans.indexOf(lanes.chosen);
  const rest = by > 0 ? spans.slice(at + 1) : spans.slice(0, at).reverse();
  const next = rest.find((span) => span.querySelector(".step .flagged:not(.bad)"));
  if (next) choose(next);
}

const KEYS = {
  j: () => move(1),
  k: () => move(-1),
  n: () => moveToMilestone(1),
  p: () => moveToMilestone(-1),
  "/": () => $("search").querySelector("input").focus(),
  " ": () => $("play").click(),
};

document.addEventListener("keydown", (event) => {
  const target = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
  if (event.key === " " && target.closest("a, button, [tabindex='0']")) return;
  const arrow = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const act = arrow && target.closest(".step") ? () => { move(arrow); lanes.chosen.querySelector(".step").focus(); } : KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

for (const hidden of page.querySelectorAll(".player, #search")) hidden.hidden = false;
const first = lanes.list.querySelector(".step[aria-current]")?.closest(".span");
document.addEventListener("DOMContentLoaded", () => {
  light();
  if (first) choose(first, { say: null }); // when the other parts listen
});
