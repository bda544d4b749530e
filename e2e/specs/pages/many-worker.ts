// A worker that may open few files, and counts the synchronous access handles that it has open.

import { DurableObject, serve } from '../../../worker/start/entries/objects.ts';
import { countHandles } from './handle-count.ts';

const handles = countHandles();

export class Book extends DurableObject {
  readonly #made = crypto.randomUUID();
  #release = () => {};

  add(): number {
    const count = (this.ctx.storage.kv.get<number>('count') ?? 0) + 1;
    this.ctx.storage.kv.put('count', count);
    return count;
  }

  /** Differs for each instance. */
  made(): string {
    return this.#made;
  }

  /** Is under way until `release`. */
  async hold(): Promise<string> {
    await new Promise<void>((resolve) => {
      this.#release = resolve;
    });
    return this.#made;
  }

  release(): void {
    this.#release();
  }

  /** Handles open now, and most at once. */
  handles(): { open: number; most: number } {
    return { ...handles };
  }
}

serve({ Book }, { limits: { openFiles: 24 } });
