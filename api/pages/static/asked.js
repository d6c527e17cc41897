// What every page does with an answer that is none: what was there before stays, and it says so. htmx asks for the parts.

const AGAIN_MS = 5000;

// What a form does not ask is no part of the address.
document.addEventListener("htmx:config:request", ({ detail }) => {
  const asked = detail.ctx.request.body;
  for (const [name, value] of Array.from(asked ?? [])) if (value === "") asked.delete(name);
});

// An address that was refused, or is this one, is no place to come back to.
document.addEventListener("htmx:before:history:update", (event) => {
  const { history, response } = event.detail;
  if (response.status >= 400 || history.path === location.pathname + location.search) event.preventDefault();
});

// Another tab, another window: that is the browser's.
document.addEventListener("click", (event) => {
  if ((event.ctrlKey || event.metaKey || event.shiftKey) && event.target.closest?.("a[hx-get]")) event.stopPropagation();
}, true);

document.addEventListener("htmx:before:swap", ({ detail }) => {
  if (detail.ctx.swap !== "none") olderNote(detail.ctx.target)?.remove();
});
document.addEventListener("htmx:response:error", ({ detail }) => failed(detail.ctx, detail.ctx.response.status));
document.addEventListener("htmx:error", ({ detail }) => failed(detail.ctx, 0, detail.error.message ?? detail.error));

function failed(context, status, why) {
  if (status === 401) return location.reload(); // logged out meanwhile
  const source = context?.sourceElement;
  older(context?.target, why ?? words(context));
  // A stream that once was is connected again by itself, one that never was is not.
  if (source?.hasAttribute("hx-sse:connect")) setTimeout(() => htmx.process(source, true), AGAIN_MS);
}

document.addEventListener("htmx:sse:error", ({ target, detail }) => {
  if (detail.status === 401) location.reload();
  else older(target, detail.error.message);
});
document.addEventListener("htmx:sse:after:connection", ({ target }) => {
  olderNote(target)?.remove();
  // A tab that nobody sees yet gets no word that it is hidden: it has been from the start.
  if (document.hidden) setTimeout(() => document.dispatchEvent(new Event("visibilitychange")));
});

const olderNote = (place) => place?.querySelector?.(":scope > .older");

// A page that says what is wrong says it in a card: its own words are better than a number.
function words({ response, text }) {
  const told = new DOMParser().parseFromString(text, "text/html").querySelector("main .card p");
  return told?.textContent ?? `${response.status} ${response.raw.statusText}`;
}

function older(place, why) {
  if (!place?.isConnected) return;
  olderNote(place)?.remove();
  const note = document.createElement("p");
  note.className = "note older";
  note.setAttribute("role", "status");
  note.textContent = `The service did not answer as wanted (${why}); what follows is older.`;
  place.prepend(note);
}
