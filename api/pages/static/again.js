// A page that is renewed while its viewer looks: whenever its stream says that something moved, it is asked for again, at
// most once a second, and what differs is put in place. The focus and the scroll stay where they were.
const EVERY_MS = 1000;
let due = false;
let waits = false;

async function renew() {
  if (waits || document.hidden) { due = true; return; }
  waits = true;
  due = false;
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (answer.ok) take(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch {
    // The service is away: the stream comes back when it does, and says so.
  }
  setTimeout(() => { waits = false; if (due) renew(); }, EVERY_MS);
}

function take(fresh) {
  const page = document.getElementById("page");
  const next = fresh.getElementById("page");
  if (!next || next.isEqualNode(page)) return;
  const focused = document.activeElement?.closest("[href]")?.getAttribute("href");
  const scrolled = Array.from(page.querySelectorAll(".scroll"), (one) => one.scrollLeft);
  page.replaceChildren(...next.childNodes);
  page.querySelectorAll(".scroll").forEach((one, place) => { one.scrollLeft = scrolled[place] ?? 0; });
  if (focused) page.querySelector(`[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

new EventSource(document.getElementById("page").dataset.again).addEventListener("moved", renew);
document.addEventListener("visibilitychange", () => { if (due && !document.hidden) renew(); });
