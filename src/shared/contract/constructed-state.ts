// Remembers the `ctx` of the object that a host is constructing, so that the base class can refuse any other, like workerd.
//
// Without a host, as in a test that constructs a class itself, any `ctx` is accepted.

let expected: object | undefined;

/** Runs the constructor of an object, which must pass this `ctx` to its base class. */
export function whileConstructing<T>(ctx: object, construct: () => T): T {
  const before = expected;
  expected = ctx;
  try {
    return construct();
  } finally {
    expected = before;
  }
}

/** Checks the `ctx` given to the base class. An object that inherits from it is accepted. @throws TypeError as in workerd */
export function checkState(ctx: unknown): void {
  if (expected === undefined || ctx === expected) return;
  if (Object.prototype.isPrototypeOf.call(expected, ctx as object)) return;
  throw new TypeError(
    "Failed to construct 'DurableObjectBase': constructor parameter 1 is not of type 'DurableObjectState'.",
  );
}
