// A document for components under test in Node. Import it before a library that looks for one.
//
// The platform's other classes stay those of Node, which the serializer knows.

import { Window } from 'happy-dom';

const window = new Window();
const { Element, SVGElement, HTMLElement, Node, Text, Comment } = window;
const globals = {
  ...{ Element, SVGElement, HTMLElement, Node, Text, Comment },
  window,
  document: window.document,
  navigator: window.navigator,
  // React warns about updates outside of `act`.
  IS_REACT_ACT_ENVIRONMENT: true,
};
for (const [name, value] of Object.entries(globals)) {
  Object.defineProperty(globalThis, name, { value, configurable: true });
}
