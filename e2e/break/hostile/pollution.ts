// Whether hostile input has changed an object that every program shares.

const SHARED: readonly (readonly [string, object])[] = [
  ['Object.prototype', Object.prototype],
  ['Array.prototype', Array.prototype],
  ['Function.prototype', Function.prototype],
  ['Map.prototype', Map.prototype],
  ['Error.prototype', Error.prototype],
  ['Promise.prototype', Promise.prototype],
  ['Uint8Array.prototype', Uint8Array.prototype],
];

/** Compares with the state when it was made. */
export class PollutionWatch {
  readonly #before = SHARED.map(([, object]) => new Set(Reflect.ownKeys(object)));

  /** Members that were added to an object, if any; it removes them for the next case. */
  found(): string | undefined {
    let found: string | undefined;
    for (const [index, [name, object]] of SHARED.entries()) {
      const added = Reflect.ownKeys(object).filter((key) => !this.#before[index]!.has(key));
      if (added.length === 0) continue;
      found = `${name} has ${added.map(String).join(', ')}`;
      for (const key of added) Reflect.deleteProperty(object, key);
    }
    return found;
  }
}
