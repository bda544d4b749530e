// The `ctx` of the object that a host constructs now, so that the base class can refuse another one, as workerd does.
//
// Without a host, as in a test that constructs a class itself, any `ctx` is accepted.

let expected: object | undefined;

/** Runs the constructor of an object with this `ctx`. */
export function whileConstructing<T>(ctx: object, construct: () => T): T {
  const before = expected;
  expected = ctx;
  try {
    return construct();
  } finally {
    expected = before;
  }
}

/** An object that inherits from `ctx` will do. @throws TypeError in workerd's words */
export function checkState(ctx: unknown): void {
  if (expected === undefined || ctx === expected) return;
  if (Object.prototype.isPrototypeOf.call(expected, ctx as object)) return;
  throw new TypeError(
    "Failed to construct 'DurableObjectBase': constructor parameter 1 is not of type 'DurableObjectState'.",
  );
}
