// News of an episode that runs: whenever the log has moved on, the page takes what is new, once at a time.

/** Call `take` at each news, and once more where news came meanwhile. A closed episode has none. */
function onNews(take) {
  let waits = false;
  let again = false;

  async function renew() {
    again = waits;
    if (waits) return;
    waits = true;
    try {
      do {
        again = false;
        await take();
      } while (again);
    } catch {
      setTimeout(renew, 5000); // the service did not answer; the next news may be long in coming
    } finally {
      waits = false;
    }
  }

  document.getElementById("news")?.addEventListener("moved", renew);
}
