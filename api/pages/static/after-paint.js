// A large script that the page can be read without, and nobody waits for it: it comes once the page is painted. A
// browser that could not show its first frame tells of no paint: then it comes a moment after all else is loaded.
const { bundle } = document.currentScript.dataset;
const MOMENT_MS = 1000;
let isAdded = false;

function addBundle() {
  if (isAdded) return;
  isAdded = true;
  const script = document.createElement("script");
  script.src = bundle;
  document.head.append(script);
}

new PerformanceObserver((list, observer) => {
  if (list.getEntriesByName("first-contentful-paint").length === 0) return;
  observer.disconnect();
  addBundle();
}).observe({ type: "paint", buffered: true });
addEventListener("load", () => setTimeout(addBundle, MOMENT_MS));
