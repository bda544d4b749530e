// The class that is measured: that of the rows, and what the further measures call in the worker.

import { freshValue } from '../../../demo/bench/data.ts';
import { Bench } from '../../../demo/bench/ours-class.ts';

const UNCONFIRMED = { allowUnconfirmed: true };

export class Measured extends Bench {
  echo(value: unknown): unknown {
    return value;
  }

  /** Returns the milliseconds of this many commits that nobody waits for. */
  unconfirmed(count: number): Promise<number> {
    const { storage } = this.ctx;
    return this.#unconfirmed(count, () => storage.put('unconfirmed', Math.random(), UNCONFIRMED));
  }

  async #unconfirmed(count: number, put: () => Promise<void>): Promise<number> {
    const { port1, port2 } = new MessageChannel();
    const nextTurn = () =>
      new Promise((resolve) => {
        port1.onmessage = resolve;
        port2.postMessage(null);
      });
    const commits = await this.commits();
    const startMs = performance.now();
    for (let i = 0; i < count; i++) {
      void put();
      await nextTurn();
      await nextTurn();
    }
    const elapsedMs = performance.now() - startMs;
    const made = (await this.commits()) - commits;
    if (made < count)
      throw new Error(`${made} commits in ${count} rounds: a round changed nothing`);
    return elapsedMs;
  }

  /** Makes this many commits on a database with this many values, and asks for the state before them. */
  async beforeRestore(entries: number, commits: number): Promise<void> {
    const { storage } = this.ctx;
    const put = (i: number, options = {}) => storage.put(`entry ${i}`, freshValue(880), options);
    if ((await storage.get(`entry ${entries - 1}`)) === undefined) {
      for (let i = 0; i < entries; i++) {
        put(i);
        if (i % 1000 === 999) await storage.sync();
      }
    }
    const bookmark = await storage.getCurrentBookmark();
    await this.#unconfirmed(commits, () => put(Math.floor(Math.random() * entries), UNCONFIRMED));
    await storage.sync();
    await storage.onNextSessionRestoreBookmark(bookmark);
    await storage.sync();
  }

  /** Ends the instance: the next call opens the object again. */
  end(): void {
    this.ctx.abort('to be opened again');
  }
}
