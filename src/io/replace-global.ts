// A global that is replaced for a while.
//
// Keeps true: undone, the property is what it was, its attributes included. A replacement that
// somebody else has replaced in turn is left alone: that one stands on it.

/** Replaces, or adds, a property of the scope; the result undoes it. */
export function replaceGlobal(scope: object, name: string, value: unknown): () => void {
  const original = Object.getOwnPropertyDescriptor(scope, name);
  const enumerable = original?.enumerable ?? false;
  Object.defineProperty(scope, name, { value, enumerable, configurable: true, writable: true });
  return () => {
    if (Reflect.get(scope, name) !== value) return;
    if (original === undefined) Reflect.deleteProperty(scope, name);
    else Object.defineProperty(scope, name, original);
  };
}

/** Undoes what was done, the last first. */
export function undoAll(steps: readonly (() => void)[]): void {
  for (const undo of [...steps].reverse()) undo();
}
