// What every page does with an answer that is none: what was there before stays, and it says so. htmx asks for the parts.

// What a form does not ask is no part of the address.
document.addEventListener("htmx:config:request", ({ detail }) => {
  const asked = detail.ctx.request.body;
  for (const [name, value] of Array.from(asked ?? [])) if (value === "") asked.delete(name);
});

document.addEventListener("htmx:before:response", (event) => {
  if (!event.detail.ctx.response.raw.redirected) return;
  event.preventDefault();
  location.reload(); // logged out meanwhile
});

document.addEventListener("htmx:before:swap", ({ detail }) => {
  if (detail.ctx.swap !== "none") olderNote(detail.ctx.target)?.remove();
});
document.addEventListener("htmx:response:error", ({ detail }) => older(detail.ctx, words(detail.ctx)));
document.addEventListener("htmx:error", ({ detail }) => older(detail.ctx, detail.error.message));

const olderNote = (place) => place?.querySelector?.(":scope > .older");

// A page that says what is wrong says it in a card: its own words are better than a number.
function words({ response, text }) {
  const told = new DOMParser().parseFromString(text, "text/html").querySelector("main .card p");
  return told?.textContent ?? `${response.status} ${response.raw.statusText}`;
}

function older(context, why) {
  const place = context?.target;
  if (!place?.isConnected) return;
  olderNote(place)?.remove();
  const note = document.createElement("p");
  note.className = "note older";
  note.setAttribute("role", "status");
  note.textContent = `The service did not answer as wanted (${why}); what follows is older.`;
  place.prepend(note);
}
