// Gives tests in Node a document for components. It must be imported before a library that looks for a document.
//
// Classes that are not of the DOM stay those of Node, because this package's serializer knows only those.

import { Window } from 'happy-dom';

const window = new Window();
const { Element, SVGElement, HTMLElement, Node, Text, Comment } = window;
const globals = {
  ...{ Element, SVGElement, HTMLElement, Node, Text, Comment },
  window,
  document: window.document,
  navigator: window.navigator,
  // With this flag, React warns about updates outside of `act`.
  IS_REACT_ACT_ENVIRONMENT: true,
};
for (const [name, value] of Object.entries(globals)) {
  Object.defineProperty(globalThis, name, { value, configurable: true });
}
