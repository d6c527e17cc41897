// An episode that runs: whenever the log has moved on, what is new of it comes, and the steps before stay as they are.
// Who looks at the newest step goes along with it; who looks at another one is left alone.

async function take() {
  const spans = lanes.spans();
  const open = spans.filter((span) => !span.classList.contains("closing"));
  const newest = lanes.chosen === open.at(-1);
  const from = Math.max(0, open.length - 2); // a step may be sealed when the next one has begun
  const told = document.createRange().createContextualFragment(await lanes.fetchHtml(`now?from=${from}`));
  for (const id of ["facts", "curve", "milestones"]) document.getElementById(id).replaceWith(told.getElementById(id));
  for (const span of told.querySelectorAll("#spans > .span")) put(span);
  lanes.fit();
  lanes.light();
  const last = lanes.spans().filter((span) => !span.classList.contains("closing")).at(-1);
  if (newest && last) lanes.choose(last);
  else lanes.cursor(lanes.chosen, 0);
}

function put(span) {
  const known = document.getElementById(span.id);
  if (!known) {
    lanes.list.append(span);
    lanes.prepare(span);
    return;
  }
  const moved = known.dataset.last !== span.dataset.last;
  for (const [name, value] of Object.entries(span.dataset)) known.dataset[name] = value;
  const [before, now] = [known.querySelector(".step"), span.querySelector(".step")];
  if (before.getAttribute("aria-current")) now.setAttribute("aria-current", "step");
  before.replaceWith(now);
  const place = known.querySelector(".window");
  if (!place) lanes.prepare(known);
  else if (moved && !place.classList.contains("waits")) {
    place.classList.add("waits");
    lanes.load(known);
  }
}

onNews(take);
