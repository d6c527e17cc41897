// Where scrolling came to rest, of the document or of a part of it.

export function openScrolling({ on, say, describe }) {
  const places = new WeakMap(); // what scrolls -> where it was last told to be

  on("scrollend", (event) => {
    const target = event.composedPath()[0];
    const whole = target === document || target === document.scrollingElement;
    const box = whole ? document.scrollingElement : target;
    if (!box || box.nodeType !== 1) return;
    const [x, y] = [Math.round(box.scrollLeft), Math.round(box.scrollTop)];
    if (places.get(box) === `${x},${y}`) return;
    places.set(box, `${x},${y}`);
    say("page.scrolled", whole ? { x, y } : { element: describe(box), x, y });
  });
}
