// `navigator` of object code: what workerd says of itself, so that libraries take the same path.
//
// Where there is a navigator, only these facts change: its other members (`locks`, `storage`) stay.

import { replaceRead, undoAll } from '../../src/io/replace-global.ts';

const FACTS = {
  userAgent: 'Cloudflare-Workers',
  language: 'en',
  languages: Object.freeze(['en']),
  platform: '',
  hardwareConcurrency: 1,
};

/** Shows the facts to object code; the result undoes it. */
export function installNavigator(scope: object, isObjectCode: () => boolean): () => void {
  const native = Reflect.get(scope, 'navigator') as object | undefined;
  if (native === undefined) {
    const shown = new Navigator();
    return replaceRead(scope, 'navigator', (original) => (isObjectCode() ? shown : original()));
  }
  const undo = Object.entries(FACTS).map(([name, fact]) =>
    replaceRead(native, name, (original) => (isObjectCode() ? fact : original())),
  );
  return () => undoAll(undo);
}

class Navigator {
  constructor() {
    Object.assign(this, FACTS);
  }

  get [Symbol.toStringTag](): string {
    return 'Navigator';
  }
}
