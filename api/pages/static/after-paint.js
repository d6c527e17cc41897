// A large script that the page can be read without, and nobody waits for it: it comes once the page is painted.
const { bundle } = document.currentScript.dataset;

new PerformanceObserver((list, observer) => {
  if (list.getEntriesByName("first-contentful-paint").length === 0) return;
  observer.disconnect();
  const script = document.createElement("script");
  script.src = bundle;
  document.head.append(script);
}).observe({ type: "paint", buffered: true });
