// Work that a busy page makes more of than it may cost: done in slices with a rest after each, so that it takes a
// small share of the page's time however much there is; a flush does what it can at once.

const WAIT_MS = 40;
const SLICE_MS = 4;
const FLUSH_MS = 60;
const SHARE = 0.05;

// begin(): a generator that works off what waits, yielding between its pieces; null where nothing waits.
export function openSlices(begin) {
  let work = null;
  let timer = null;

  function run(budget_ms) {
    timer = null;
    const start = performance.now();
    for (;;) {
      work ??= begin();
      if (!work) return;
      while (!work.next().done) {
        const took = performance.now() - start;
        if (took < budget_ms) continue;
        timer = setTimeout(run, took / SHARE, SLICE_MS);
        return;
      }
      work = null;
    }
  }

  return {
    // Whether a slice ended before its work did: the page makes more than is worked off.
    get behind() {
      return work !== null;
    },
    soon() {
      timer ??= setTimeout(run, WAIT_MS, SLICE_MS);
    },
    flush() {
      clearTimeout(timer);
      run(FLUSH_MS);
    },
    close: () => clearTimeout(timer),
  };
}
