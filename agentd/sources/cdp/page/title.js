// The document's title, as it changes: the browser's own list of targets tells of it only at navigations.

const LONGEST = 1000;
const WAIT_MS = 20; // pages that make their title blink are told of once in a while

// An image named "title" would hide the document's own.
const titleOf = Object.getOwnPropertyDescriptor(Document.prototype, "title").get;

export function openTitle(say) {
  let told = "";
  let timer = null;

  function flush() {
    clearTimeout(timer);
    timer = null;
    const title = titleOf.call(document).slice(0, LONGEST);
    if (title === told) return;
    told = title;
    if (title) say("title", { title });
  }

  const observer = new MutationObserver(() => {
    arm();
    if (timer === null) timer = setTimeout(flush, WAIT_MS);
  });

  // Root, head and title, each as soon as it is there; anything else in the page may change unheard.
  function arm() {
    observer.observe(document, { childList: true });
    if (document.documentElement) observer.observe(document.documentElement, { childList: true });
    if (document.head) observer.observe(document.head, { childList: true });
    const element = document.querySelector("title");
    if (element) observer.observe(element, { childList: true, characterData: true, subtree: true });
  }

  arm();
  return { flush, close: () => observer.disconnect() };
}
