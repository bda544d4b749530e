// The names of the elements that are open, one inside the other.
//
// Invariant: the time that an end tag takes depends only on the number of elements that it closes, not on how many are
// open.

/**
 * The most elements that may be open, as in workerd. Real pages have far less; it bounds the memory of hostile
 * documents.
 */
export const OPEN_ELEMENTS_MAX = 16_384;

export function tooManyOpen(): TypeError {
  return new TypeError(
    `Parser error: The memory limit has been exceeded: more than ${OPEN_ELEMENTS_MAX} elements are open, one in the ` +
      'other. Check the end tags of the document.',
  );
}

/**
 * The elements that the HTML standard calls special. An open one keeps end tags that are not special from closing
 * elements around it.
 */
const SPECIAL: ReadonlySet<string> = new Set(
  (
    'address applet article aside blockquote body button caption center colgroup dd details dir div dl dt fieldset ' +
    'figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup html iframe li listing main ' +
    'marquee menu nav noembed noframes noscript object ol p plaintext pre script search section select style summary ' +
    'table tbody td template textarea tfoot th thead title tr ul xmp'
  ).split(' '),
);

export class OpenNames {
  readonly #names: string[] = [];
  /** The places of each name in `#names`, the innermost last. */
  readonly #places = new Map<string, number[]>();
  readonly #specialPlaces: number[] = [];

  get count(): number {
    return this.#names.length;
  }

  /** @throws TypeError if too many elements are open */
  open(name: string): void {
    const place = this.#names.length;
    if (place === OPEN_ELEMENTS_MAX) throw tooManyOpen();
    this.#names.push(name);
    const places = this.#places.get(name);
    if (places === undefined) this.#places.set(name, [place]);
    else places.push(place);
    if (SPECIAL.has(name)) this.#specialPlaces.push(place);
  }

  /** Closes the innermost element of the name and the elements inside of it. */
  close(name: string): void {
    const place = this.#places.get(name)?.at(-1);
    if (place === undefined) return;
    if (!SPECIAL.has(name) && (this.#specialPlaces.at(-1) ?? -1) > place) return;
    while (this.#names.length > place) this.#pop();
  }

  #pop(): void {
    const name = this.#names.pop()!;
    const places = this.#places.get(name)!;
    places.pop();
    if (places.length === 0) this.#places.delete(name);
    if (SPECIAL.has(name)) this.#specialPlaces.pop();
  }
}
