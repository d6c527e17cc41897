// The page of an episode that runs asks for itself anew whenever the log has moved on; what is the same stays in place,
// and so do the focus and the scroll.
const page = document.getElementById("page");
let waits = false;
let again = false;

async function renew() {
  if (waits) { again = true; return; }
  waits = true;
  do {
    again = false;
    await htmx.ajax("GET", location.href, { target: "#page", select: "#page", swap: "outerMorph" });
  } while (again);
  waits = false;
}

const source = new EventSource(page.dataset.live);
source.addEventListener("moved", (event) => {
  if (event.data === "closed") source.close();
  renew();
});
