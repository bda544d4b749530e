// The class whose calls are measured, and the measures inside a worker.

import { DurableObject } from '../../../worker/start/entries/objects.ts';
import { fresh } from './fresh.ts';

const UNCONFIRMED = { allowUnconfirmed: true };

export class Bench extends DurableObject {
  echo(value: unknown): unknown {
    return value;
  }

  write(key: string, value: number): void {
    this.ctx.storage.put(key, value);
  }

  read(key: string): Promise<unknown> {
    return this.ctx.storage.get(key);
  }

  /** Milliseconds of so many puts of other bytes, each with its flush. */
  async putSync(count: number, length: number): Promise<number> {
    const { storage } = this.ctx;
    const bytes = new Uint8Array(length);
    return this.#timed(count, async (i) => {
      new DataView(bytes.buffer).setFloat64(0, Math.random());
      for (let at = 0; at < length; at += 97) bytes[at] = Math.floor(Math.random() * 256);
      storage.put(`p${length}-${i % 10}`, bytes);
      await storage.sync();
    });
  }

  /** Milliseconds of so many puts that replace one value by random bytes, each with its flush. */
  async replaceSync(count: number, length: number): Promise<number> {
    const { storage } = this.ctx;
    const values = Array.from({ length: count }, () => fresh(length));
    return this.#timed(count, async (i) => {
      storage.put('replaced', values[i]!);
      await storage.sync();
    });
  }

  /** Milliseconds of so many commits that nobody waits for. */
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
    return this.#timed(count, async () => {
      void put();
      await nextTurn();
      await nextTurn();
    });
  }

  /** Makes so many commits on a database with so many values, and asks for the state before them. */
  async beforeRestore(entries: number, commits: number): Promise<void> {
    const { storage } = this.ctx;
    const put = (i: number, options = {}) => storage.put(`entry ${i}`, fresh(880), options);
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

  async #timed(count: number, once: (i: number) => Promise<void>): Promise<number> {
    const commits = await this.#commits();
    const startMs = performance.now();
    for (let i = 0; i < count; i++) await once(i);
    const elapsedMs = performance.now() - startMs;
    const made = (await this.#commits()) - commits;
    if (made < count)
      throw new Error(`${made} commits in ${count} rounds: a round changed nothing`);
    return elapsedMs;
  }

  async #commits(): Promise<number> {
    const [, sequence] = (await this.ctx.storage.getCurrentBookmark()).split('-');
    return Number.parseInt(sequence!, 16);
  }
}
