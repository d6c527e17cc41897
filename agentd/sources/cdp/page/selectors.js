// Which of the selectors that a task names are met by what was clicked or filled in. Told only where a task names some.

const MOST_PARTS = 500; // elements of a control that are looked through

export function openSelectors(names) {
  const isAsked = names.length > 0;
  const isReadable = names.every(isSelector); // what another would have found, nobody knows: none is told

  function told(elements) {
    if (!isAsked || !isReadable) return {};
    return { selectors: names.filter((name) => elements.some((element) => element.matches(name))) };
  }

  return {
    // What was hit, what it stands in up to `element`, which goes for what was clicked, and where that is a control its
    // parts: who clicks a button clicks the icon in it.
    ofClick(path, element, isControl) {
      const elements = path.slice(0, path.indexOf(element) + 1).filter((node) => node.nodeType === 1);
      if (isControl) elements.push(...Array.from(element.querySelectorAll("*")).slice(0, MOST_PARTS));
      return told(elements);
    },
    // The field, or an option that is chosen in it.
    ofField: (element) => told([element, ...(element.localName === "select" ? element.selectedOptions : [])]),
  };
}

export function isSelector(text) {
  try {
    document.querySelector(text);
    return true;
  } catch {
    return false;
  }
}
