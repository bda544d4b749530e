// The functions that every contender's page offers to the harness.

import { freshValue, key } from '../../../demo/bench/data.ts';
import { fillStores, type Opened, type TimeRow, timerOf } from '../../../demo/bench/opened.ts';
import type { Configuration, Store } from '../../../demo/bench/store.ts';

export interface Burst {
  readonly ms: number;
  readonly accepted: number;
  /** The error of the first refused commit; null if none was refused. */
  readonly refusal: string | null;
}

const BURST_ENTRIES = 100;

declare global {
  interface Window {
    readonly contender: {
      open(configuration: Configuration): Promise<void>;
      fill(): Promise<void>;
      /** Commits this many entries, one after the other. */
      write(count: number): Promise<void>;
      /** Commits new values of this size over 100 entries, one after the other, and continues after a refusal. */
      burst(count: number, sizeBytes: number): Promise<Burst>;
      /** How many entries of the bursts are not as they were accepted last. */
      lost(): Promise<number>;
      readonly time: TimeRow;
    };
    /** Milliseconds from the navigation to the first answer, of a page opened with `?` and a configuration. */
    firstAnswerMs?: number;
    /** Milliseconds from the navigation until the answers of 30 queries are drawn, of a page with `#drawn` as well. */
    drawnMs?: number;
  }
}

/** `open` opens the store, and no more; `equip` adds the needs of measures only. */
export function serveContender<T extends { readonly page: Store }>(
  open: (configuration: Configuration) => Promise<T>,
  equip: (opened: T, configuration: Configuration) => Promise<Opened>,
): void {
  let opened: Opened;
  let timeRow: TimeRow;
  const accepted = new Map<string, number>();
  const contender: Window['contender'] = {
    async open(configuration) {
      opened = await equip(await open(configuration), configuration);
      timeRow = timerOf(opened);
    },
    fill: () => fillStores(opened),
    async write(count) {
      for (let i = 0; i < count; i++) await opened.page.put(key(i), freshValue());
    },
    async burst(count, sizeBytes) {
      let acceptedCount = 0;
      let refusal: string | null = null;
      const beginMs = performance.now();
      for (let i = 0; i < count; i++) {
        const name = key(i % BURST_ENTRIES);
        const value = freshValue(sizeBytes);
        const mark = markOf(value);
        try {
          await opened.page.put(name, value);
          accepted.set(name, mark);
          acceptedCount += 1;
        } catch (error) {
          refusal ??= String(error);
        }
      }
      return { ms: performance.now() - beginMs, accepted: acceptedCount, refusal };
    },
    async lost() {
      let count = 0;
      for (const [name, mark] of accepted) {
        const value = await opened.page.get(name);
        if (value === undefined || markOf(value) !== mark) count += 1;
      }
      return count;
    },
    time: (row, place) => timeRow(row, place),
  };
  Object.assign(window, { contender });
  if (location.search !== '') void answerFirst(open);
}

/** Returns the number that distinguishes a fresh value from others. */
function markOf({ buffer, byteOffset }: Uint8Array): number {
  return new DataView(buffer, byteOffset).getFloat64(0);
}

async function answerFirst(open: (configuration: Configuration) => Promise<{ page: Store }>) {
  const { page } = await open(JSON.parse(decodeURIComponent(location.search.slice(1))));
  await page.get('k0001');
  window.firstAnswerMs = performance.now();
  if (location.hash === '#drawn') await draw(page);
}

/** Reads what a page would show: entries, rows and a count, or entries alone if the store has no more. */
async function draw(store: Store): Promise<void> {
  const entry = async (i: number) => (await store.get(key(i)))?.length;
  const { select = (id: number) => entry(id + 100), list = () => entry(200) } = store;
  const shown = await Promise.all([
    ...Array.from({ length: 10 }, (_, i) => entry(i)),
    ...Array.from({ length: 19 }, (_, i) => select(i + 1)),
    list(),
  ]);
  document.body.append(
    ...shown.map((each) => Object.assign(document.createElement('p'), { textContent: each })),
  );
  await new Promise(requestAnimationFrame);
  window.drawnMs = performance.now();
}
