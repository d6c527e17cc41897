// The events of a step come when somebody scrolls near them, and go when he is far away: a long episode costs the
// browser no more than a short one. What is not there yet has the height that it will have.

const LINE_PX = 28;
const HEAD_PX = 41;
const NEAR_PX = 800;
const FAR_PX = 6000;

const loading = new WeakSet();
const near = new IntersectionObserver(onNear, { root: lanes.list, rootMargin: `${NEAR_PX}px 0px` });
const far = new IntersectionObserver(onFar, { root: lanes.list, rootMargin: `${FAR_PX}px 0px` });

// Gives a step a place for its events, where it has none.
lanes.prepare = (span) => {
  if (!Number(span.dataset.lines) || span.querySelector(".window")) return;
  const place = document.createElement("div");
  place.className = "window waits";
  place.style.height = `${Number(span.dataset.lines) * LINE_PX}px`;
  span.style.containIntrinsicHeight = `auto ${Number(span.dataset.lines) * LINE_PX + HEAD_PX}px`; // while out of sight
  span.append(place);
  watch(span);
};

function watch(span) {
  near.observe(span);
  far.observe(span);
}

function onNear(entries) {
  for (const { isIntersecting, target } of entries) if (isIntersecting) load(target);
}

function onFar(entries) {
  for (const { isIntersecting, target } of entries) {
    const place = target.querySelector(".window");
    if (isIntersecting || !place || place.classList.contains("waits") || target === lanes.chosen) continue;
    const height = place.getBoundingClientRect().height;
    place.replaceChildren();
    place.classList.add("waits");
    place.style.height = `${height}px`;
  }
}

async function load(span) {
  const place = span.querySelector(".window.waits");
  if (!place || loading.has(span) || lanes.list.classList.contains("folded")) return;
  loading.add(span);
  try {
    const told = await lanes.fetchHtml(`window?step=${span.dataset.step}`);
    const made = document.createRange().createContextualFragment(told).querySelector(".window");
    if (made) {
      span.querySelector(".window").replaceWith(made);
      htmx.process(made);
    }
    span.removeAttribute("data-stale");
    mark(span);
  } finally {
    loading.delete(span);
  }
  document.dispatchEvent(new Event("window"));
}
lanes.load = load;

function mark(place) {
  for (const line of place.querySelectorAll(".line")) {
    const seqs = Array.from(lanes.evidence);
    line.classList.toggle("lit", seqs.some((seq) => seq >= line.dataset.seq && seq <= line.dataset.last));
  }
}

lanes.list.addEventListener("htmx:after:swap", () => mark(lanes.list)); // the later events of a step

// Where somebody asked for more by keyboard, he goes on with what came.
let shownTo = 0;
document.addEventListener("htmx:before:swap", ({ detail }) => {
  const place = detail.ctx.target.closest?.(".window, #found");
  shownTo = Number(Array.from(place?.querySelectorAll(".line") ?? []).at(-1)?.dataset.seq ?? 0);
});
for (const place of [lanes.list, document.getElementById("found")]) {
  place.addEventListener("htmx:after:swap", () => {
    if (document.activeElement !== document.body) return;
    const fresh = Array.from(place.querySelectorAll(".line")).find((one) => Number(one.dataset.seq) > shownTo);
    fresh?.querySelector("a").focus({ preventScroll: true });
  });
}

document.getElementById("fold").addEventListener("click", (event) => {
  const folded = lanes.list.classList.toggle("folded");
  event.target.setAttribute("aria-pressed", folded);
  lanes.chosen?.scrollIntoView({ block: "nearest" });
});

// -- search: the lane shows what was found in place of the steps, as long as there is something to look for

const search = document.getElementById("search");
const found = document.getElementById("found");

function finds(some) {
  found.hidden = !some;
  lanes.list.hidden = some;
}

search.addEventListener("htmx:config:request", (event) => {
  const { q, source } = search.elements;
  if (q.value.trim() || source.value) return;
  event.preventDefault();
  htmx.trigger(search, "htmx:abort"); // what is under way would be found after all
  finds(false);
});
search.addEventListener("htmx:after:swap", () => finds(true));
search.addEventListener("htmx:error", () => {
  if (found.hidden) found.replaceChildren(...found.querySelectorAll(":scope > .older")); // not what was found before
  finds(true);
});

for (const span of lanes.spans()) {
  if (span.querySelector(".window")) watch(span);
  else lanes.prepare(span);
}
