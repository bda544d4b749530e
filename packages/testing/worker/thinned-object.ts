// For tests: an object whose history is thinned, with every state that it had.

import { expect } from 'vitest';
import type { FileDirectory } from '../../../worker/engine/file/file.ts';
import { MemoryDirectory } from '../../../worker/engine/file/memory-file.ts';
import { ObjectFiles } from '../../../worker/engine/log/object-files.ts';
import { PAGE_BYTES } from '../../../worker/engine/log/pages.ts';
import { foldedSpan, type Span } from '../../../worker/engine/log/sealed-segments.ts';
import { type FilesOptions, imageOf, noise, START_MS, TestEnvironment } from './test-log.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

export interface KnownState {
  readonly bookmark: string;
  readonly image: Buffer;
  readonly timeMs: number;
}

export interface AgedOptions {
  /** Commits, each of which fills a part of a segment. @default 60 */
  readonly count?: number;
  /** Between two commits. @default 10,000 */
  readonly everyMs?: number;
  /** After the last of them; then a few commits follow. */
  readonly thenMs: number;
  readonly directory?: FileDirectory;
}

export class ThinnedObject {
  readonly directory: FileDirectory;
  readonly environment = Object.assign(new TestEnvironment(), {
    history: { bytes: Number.POSITIVE_INFINITY, thin: true },
    loadFolding: () => import('../../../worker/engine/log/folding.ts'),
  });
  sizes: FilesOptions = { segmentBytes: 1 << 15, checkpointLogBytes: 1, isChecked: true };
  readonly states: KnownState[] = [];
  files!: ObjectFiles;
  #seed = 0;

  constructor(directory: FileDirectory = new MemoryDirectory()) {
    this.directory = directory;
  }

  /** A closed object with many segments that were never thinned, some time after its commits. */
  static async aged({
    count = 60,
    everyMs = 10_000,
    thenMs,
    directory,
  }: AgedOptions): Promise<ThinnedObject> {
    const object = new ThinnedObject(directory);
    object.environment.history.thin = false;
    await object.open();
    await object.fill(count, everyMs, thenMs);
    await object.files.close();
    object.environment.history.thin = true;
    return object;
  }

  /** The spans of the folded segments that it has. */
  async spans(): Promise<Span[]> {
    return (await this.folded()).map((name) => foldedSpan(name)!);
  }

  async open(): Promise<this> {
    this.files = await ObjectFiles.open(this.directory, this.environment, this.sizes);
    return this;
  }

  async reopen(): Promise<void> {
    await this.files.flush();
    await this.files.close();
    await this.open();
  }

  /** Writes words of pages, durably; `pageCount`: how many pages the database has then. */
  async commit(pages: readonly number[], pageCount = 0): Promise<string> {
    const { file } = this.files;
    this.#seed++;
    for (const index of pages) {
      const page = new Uint8Array(PAGE_BYTES);
      file.read(page, index * PAGE_BYTES);
      page.set(noise(1000 * this.#seed + index, 1200), (this.#seed % 3) * 1000);
      file.write(page, index * PAGE_BYTES);
    }
    if (pageCount > 0) file.truncate(Math.min(file.sizeBytes(), pageCount * PAGE_BYTES));
    file.commit();
    await this.files.flush();
    await this.upkeep();
    return this.note();
  }

  note(): string {
    const bookmark = this.files.currentBookmark();
    // A transaction that changes no page is no commit.
    if (this.states.at(-1)?.bookmark === bookmark) return bookmark;
    const image = imageOf(this.files.file);
    this.states.push({ bookmark, image, timeMs: this.environment.nowMs });
    return bookmark;
  }

  async upkeep(): Promise<void> {
    for (let i = 0; this.files.needsMaintenance && i < 3; i++) await this.files.maintain();
  }

  /** Until nothing is left to do. */
  async thin(): Promise<void> {
    for (let i = 0; this.files.needsMaintenance; i++) {
      if (i > 3000) throw new Error(`endless ${(await this.directory.names()).join(' ')}`);
      await this.files.maintain();
    }
  }

  async at(bookmark: string): Promise<Buffer | null> {
    try {
      const state = await this.files.openPast(bookmark);
      const image = imageOf(state);
      this.files.closePast(state);
      return image;
    } catch (error) {
      expect(error).toMatchObject({ code: 'BOOKMARK_UNAVAILABLE' });
      return null;
    }
  }

  /** Compares all known states; returns the bookmarks of the kept ones. */
  async compare(): Promise<Set<string>> {
    const kept = new Set<string>();
    for (const { bookmark, image } of this.states) {
      const found = await this.at(bookmark);
      if (found === null) continue;
      expect(found.equals(image)).toBe(true);
      kept.add(bookmark);
    }
    return kept;
  }

  /** Makes commits one after the other; after a time, a few commits end the last segments. */
  async fill(count: number, everyMs: number, thenMs: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      this.environment.nowMs = START_MS + i * everyMs;
      await this.commit([0, 1 + (i % 5)]);
    }
    await this.rest(thenMs);
  }

  /** Time passes, then a few commits end the last segments. */
  async rest(ms: number): Promise<void> {
    this.environment.nowMs += ms;
    for (let i = 0; i < 9; i++) await this.commit([0, 1, 2, 3, 4]);
  }

  async folded(): Promise<string[]> {
    return (await this.directory.names()).filter((name) => foldedSpan(name) !== null).sort();
  }
}

/** An open object that was filled, and whose old segments were thinned. */
export async function saved(
  count: number,
  everyMs: number,
  thenMs: number,
): Promise<ThinnedObject> {
  const object = await new ThinnedObject().open();
  await object.fill(count, everyMs, thenMs);
  await object.thin();
  return object;
}

/** The last one of each time. */
export function lastOfEach(states: readonly KnownState[], spacingMs: number): KnownState[] {
  const of = ({ timeMs }: KnownState) => Math.floor(timeMs / spacingMs);
  return states.filter((state, i) => i + 1 === states.length || of(state) !== of(states[i + 1]!));
}
