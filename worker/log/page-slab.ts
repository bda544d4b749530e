// Memory for pages that come and go together, in slabs of many pages: an allocation a page costs more than
// reading it. A slab is given back when none of its pages is in use.

import { PAGE_BYTES } from './pages.ts';

const SLAB_PAGES = 64;

export class PageSlab {
  #slab: ArrayBuffer | undefined;
  #taken = 0;

  /** A page of zeros. */
  take(): Uint8Array {
    if (this.#slab === undefined || this.#taken === SLAB_PAGES) {
      this.#slab = new ArrayBuffer(SLAB_PAGES * PAGE_BYTES);
      this.#taken = 0;
    }
    return new Uint8Array(this.#slab, this.#taken++ * PAGE_BYTES, PAGE_BYTES);
  }

  /** Later pages do not share memory with earlier ones. */
  end(): void {
    this.#slab = undefined;
  }
}
