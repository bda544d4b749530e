// The number of each object already begun, for references to it.
//
// A few objects are searched in a list, which is faster than a map and allocates nothing.

const LIST_MAX = 8;

export class ObjectNumbers {
  readonly #list: object[] = [];
  #map: Map<object, number> | undefined;

  has(object: object): boolean {
    return this.#map ? this.#map.has(object) : this.#list.includes(object);
  }

  /** The number of the object; undefined if it had none and was given the next one. */
  claim(object: object): number | undefined {
    const map = this.#map;
    if (map) {
      const number = map.get(object);
      if (number === undefined) map.set(object, map.size);
      return number;
    }
    const list = this.#list;
    for (let i = 0; i < list.length; i++) if (list[i] === object) return i;
    list.push(object);
    if (list.length > LIST_MAX) this.#map = new Map(list.map((known, number) => [known, number]));
    return undefined;
  }

  clear(): void {
    this.#list.length = 0;
    this.#map = undefined;
  }
}
