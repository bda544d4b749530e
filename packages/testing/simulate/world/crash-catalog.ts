// The catalog of a simulated host when power fails: acknowledged changes are kept, and of the later changes some of the
// first, in order.

import { type CatalogEntry, MemoryCatalog } from '@ctx-storage/worker/objects';
import type { Random } from './random.ts';
import { turnOfEventLoop } from './settle.ts';

type Entries = ReadonlyMap<string, CatalogEntry>;

export class CrashCatalog extends MemoryCatalog {
  readonly #random: Random;
  readonly #turn: () => Promise<void>;
  /** The entries that may survive: those that were acknowledged last, then those after each later change. */
  #possible: Entries[];

  /** `turn` waits for a turn of the event loop. */
  constructor(random: Random, entries: Entries = new Map(), turn = turnOfEventLoop) {
    super();
    this.#random = random;
    this.#turn = turn;
    for (const [key, entry] of entries) this.entries.set(key, entry);
    this.#possible = [new Map(entries)];
  }

  /** Returns the catalog as it may be when power is back. */
  afterLoss(): CrashCatalog {
    return new CrashCatalog(this.#random, this.#random.pick(this.#possible), this.#turn);
  }

  override async add(entry: CatalogEntry): Promise<boolean> {
    const wasStored = await super.add(entry);
    await this.#durable();
    return wasStored;
  }

  override async build(entries: readonly CatalogEntry[]): Promise<void> {
    await super.build(entries);
    await this.#durable();
  }

  override async stored(key: string): Promise<void> {
    await super.stored(key);
    await this.#durable();
  }

  override async leaving(key: string): Promise<void> {
    await super.leaving(key);
    await this.#durable();
  }

  override async rest(key: string, wakeMs: number | null): Promise<void> {
    await super.rest(key, wakeMs);
    await this.#durable();
  }

  override async remove(key: string): Promise<void> {
    await super.remove(key);
    await this.#durable();
  }

  /** Waits until the last change is durable, and all changes before it. */
  async #durable(): Promise<void> {
    const reached: Entries = new Map(this.entries);
    this.#possible.push(reached);
    await this.#turn();
    const index = this.#possible.indexOf(reached);
    if (index > 0) this.#possible.splice(0, index);
  }
}
