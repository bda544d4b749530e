// Replaces a global until it is restored.
//
// Invariant: restoring brings the property back with its attributes. If other code has replaced the
// replacement, nothing is restored, because that code relies on it.

/** Replaces or adds a property of the scope by one of this package's; the result restores it. */
export function replaceGlobal(scope: object, name: string, value: unknown): () => void {
  // The name of a function is the name that programs call, even if a minifier changed it.
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

/** Undoes the steps, the last one first. */
export function undoAll(steps: readonly (() => void)[]): void {
  for (const undo of [...steps].reverse()) undo();
}

/**
 * Replaces, or adds, a property whose value is made on reading: `read` gets a function that reads the
 * earlier value. The result undoes it.
 */
export function replaceRead(
  scope: object,
  name: string,
  read: (original: () => unknown) => unknown,
): () => void {
  const own = Object.getOwnPropertyDescriptor(scope, name);
  const original = readerOf(scope, name);
  const get = () => read(original);
  // Assigned to, it is as any property that somebody else has replaced.
  const set = (value: unknown) => void replace(scope, name, value);
  const enumerable = own?.enumerable ?? false;
  Object.defineProperty(scope, name, { get, set, enumerable, configurable: true });
  return () => {
    if (Object.getOwnPropertyDescriptor(scope, name)?.get !== get) return;
    if (own === undefined) Reflect.deleteProperty(scope, name);
    else Object.defineProperty(scope, name, own);
  };
}

/** Reads the property as it is now: it may be a getter that throws, or makes its value late. */
function readerOf(scope: object, name: string): () => unknown {
  for (let holder = scope; holder !== null; holder = Object.getPrototypeOf(holder) as object) {
    const found = Object.getOwnPropertyDescriptor(holder, name);
    if (found?.get !== undefined) return () => Reflect.apply(found.get!, scope, []);
    if (found !== undefined) return () => found.value as unknown;
  }
  return () => undefined;
}
