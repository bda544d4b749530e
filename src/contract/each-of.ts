/**
 * What `make` makes of each element, holes included: for lists of calls and answers, instead of `map` and `Array.from`.
 *
 * In V8, `map` gives an array of one shape while its caller is interpreted, and of another once it is compiled, and
 * compiled code that the array passes through is thrown away then. `Array.from` asks the array for an iterator.
 */
export function eachOf<V, T>(values: readonly V[], make: (value: V, index: number) => T): T[] {
  const made: T[] = [];
  for (let i = 0; i < values.length; i++) made.push(make(values[i]!, i));
  return made;
}
