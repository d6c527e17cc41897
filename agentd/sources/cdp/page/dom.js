// The properties of nodes under names that no page can take.
//
// A form answers for its controls' names, and a document for its images' and forms', before any property of its own:
// with `<input name=getAttribute>`, `form.getAttribute` is that input, in every world. So the bundle is built with each
// name of dom_names.json written otherwise wherever it is a property (tools/build_page_script.py), the library's own
// uses included, and the daemon puts a word into those that is new for each attachment. Here the prototypes of this
// world, which no page sees, get the properties under them. What a form alone has (`elements`) is read by its descriptor.

import NAMES from "./dom_names.json";

const PREFIX = "__MILESTONED_DOM__";
const HOLDERS = [
  EventTarget, Node, Attr, CharacterData, Text, ProcessingInstruction, Document, DocumentFragment, ShadowRoot, Element,
  MathMLElement, SVGElement, SVGSVGElement, HTMLElement, HTMLButtonElement, HTMLInputElement, HTMLMediaElement,
  HTMLMeterElement, HTMLOutputElement, HTMLProgressElement, HTMLScriptElement, HTMLSelectElement, HTMLTextAreaElement,
  HTMLTrackElement,
];

export function nameSafely() {
  for (const { prototype } of HOLDERS) {
    for (const name of NAMES) {
      const property = Object.getOwnPropertyDescriptor(prototype, name);
      if (property) Object.defineProperty(prototype, PREFIX + name, property);
    }
  }
}
