// Replaces a global property, and restores it later.
//
// Invariant: restoring also restores the property's attributes. If other code has replaced the replacement meanwhile,
// nothing is restored, because that code may call the replacement.

/** Replaces or adds a property of the scope. Call the result to restore it. */
export function replaceGlobal(scope: object, name: string, value: unknown): () => void {
  // A minifier may have changed the function's name, which programs can read.
  if (typeof value === 'function') {
    Object.defineProperty(value, 'name', { value: name, configurable: true });
  }
  return replace(scope, name, value);
}

function replace(scope: object, name: string, value: unknown): () => void {
  const original = Object.getOwnPropertyDescriptor(scope, name);
  const enumerable = original?.enumerable ?? false;
  Object.defineProperty(scope, name, { value, enumerable, configurable: true, writable: true });
  return () => {
    if (Reflect.get(scope, name) !== value) return;
    if (original === undefined) Reflect.deleteProperty(scope, name);
    else Object.defineProperty(scope, name, original);
  };
}

/** Calls the functions in reverse order. */
export function undoAll(steps: readonly (() => void)[]): void {
  for (const undo of [...steps].reverse()) undo();
}

/**
 * Replaces or adds a property by a getter. `read` computes its value, and gets a function that reads the original value.
 * Call the result to restore the property.
 */
export function replaceRead(
  scope: object,
  name: string,
  read: (original: () => unknown) => unknown,
): () => void {
  const own = Object.getOwnPropertyDescriptor(scope, name);
  const original = readerOf(scope, name);
  const get = () => read(original);
  // An assignment replaces the getter, and is not undone by restoring.
  const set = (value: unknown) => void replace(scope, name, value);
  const enumerable = own?.enumerable ?? false;
  Object.defineProperty(scope, name, { get, set, enumerable, configurable: true });
  return () => {
    if (Object.getOwnPropertyDescriptor(scope, name)?.get !== get) return;
    if (own === undefined) Reflect.deleteProperty(scope, name);
    else Object.defineProperty(scope, name, own);
  };
}

/** Returns a function that reads the original property. A getter is called on each read only: it may throw or be slow. */
function readerOf(scope: object, name: string): () => unknown {
  for (let holder = scope; holder !== null; holder = Object.getPrototypeOf(holder) as object) {
    const found = Object.getOwnPropertyDescriptor(holder, name);
    if (found?.get !== undefined) return () => Reflect.apply(found.get!, scope, []);
    if (found !== undefined) return () => found.value as unknown;
  }
  return () => undefined;
}
