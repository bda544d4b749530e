// What a stub shows for a name: a method to call, which can also be awaited as a property.

/** Symbol.dispose, under the name that compilers agree on where the engine lacks it. */
export const DISPOSE: symbol = Symbol.dispose ?? Symbol.for('Symbol.dispose');

/** Names that programs ask any object for, to learn what it is; never members of the other side. */
export const LOCAL_NAMES: ReadonlySet<string> = new Set([
  ...Object.getOwnPropertyNames(Object.prototype),
  'then',
  'toJSON',
]);

/** A method of the other side; awaited, it gives the property instead. */
export function member(
  call: (parameters: unknown[]) => Promise<unknown>,
  get: () => Promise<unknown>,
): object {
  const method = (...parameters: unknown[]) => call(parameters);
  for (const name of ['then', 'catch', 'finally'] as const) {
    const value = (...handlers: never[]) => {
      const property = get();
      return Reflect.apply(property[name], property, handlers);
    };
    Object.defineProperty(method, name, { value, configurable: true });
  }
  return method;
}
