// The catalog in a file of Node's file system: a line of JSON for each change, the last one counts.
//
// Keeps true: a line is on disk when `add` resolves; a line that was torn by a crash is left out.
// The file is written anew, without what was overtaken, when it is opened.

import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { type CatalogEntry, MemoryCatalog } from './catalog.ts';

export class NodeCatalog extends MemoryCatalog {
  readonly #descriptor: number;

  constructor(path: string) {
    super();
    for (const line of existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []) {
      const change = parse(line);
      if (change === undefined) continue;
      if ('removed' in change) this.entries.delete(change.removed);
      else this.entries.set(change.key, change);
    }
    const fresh = `${path}.new`;
    const descriptor = openSync(fresh, 'w');
    const lines = [...this.entries.values()].map((entry) => `${JSON.stringify(entry)}\n`);
    writeSync(descriptor, lines.join(''));
    fsyncSync(descriptor);
    renameSync(fresh, path);
    this.#descriptor = descriptor;
  }

  override async add(entry: CatalogEntry): Promise<void> {
    await super.add(entry);
    this.#append(this.entries.get(entry.key)!);
    fsyncSync(this.#descriptor);
  }

  override async rest(key: string, wakeMs: number | null): Promise<void> {
    await super.rest(key, wakeMs);
    const entry = this.entries.get(key);
    if (entry !== undefined) this.#append(entry);
  }

  override async remove(key: string): Promise<void> {
    await super.remove(key);
    this.#append({ removed: key });
  }

  override close(): void {
    closeSync(this.#descriptor);
  }

  #append(change: CatalogEntry | { readonly removed: string }): void {
    writeSync(this.#descriptor, `${JSON.stringify(change)}\n`);
  }
}

function parse(line: string): CatalogEntry | { readonly removed: string } | undefined {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // torn by a crash, and never confirmed; or the end of the file
  }
}
