// The functions that every contender's page offers to the harness.

import { freshValue, key } from '../../../demo/bench/data.ts';
import { fillStores, type Opened, type TimeRow, timerOf } from '../../../demo/bench/opened.ts';
import type { Configuration, Store } from '../../../demo/bench/store.ts';

declare global {
  interface Window {
    readonly contender: {
      open(configuration: Configuration): Promise<void>;
      fill(): Promise<void>;
      /** Commits so many entries, one after the other. */
      write(count: number): Promise<void>;
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
  const contender: Window['contender'] = {
    async open(configuration) {
      opened = await equip(await open(configuration), configuration);
      timeRow = timerOf(opened);
    },
    fill: () => fillStores(opened),
    async write(count) {
      for (let i = 0; i < count; i++) await opened.page.put(key(i), freshValue());
    },
    time: (row, place) => timeRow(row, place),
  };
  Object.assign(window, { contender });
  if (location.search !== '') void answerFirst(open);
}

async function answerFirst(open: (configuration: Configuration) => Promise<{ page: Store }>) {
  const { page } = await open(JSON.parse(decodeURIComponent(location.search.slice(1))));
  await page.get('k0001');
  window.firstAnswerMs = performance.now();
  if (location.hash === '#drawn') await draw(page);
}

/** What a page shows: entries, rows and a count. */
async function draw(store: Store): Promise<void> {
  const shown = await Promise.all([
    ...Array.from({ length: 10 }, async (_, i) => (await store.get(key(i)))?.length),
    ...Array.from({ length: 19 }, (_, i) => store.select!(i + 1)),
    store.list!(),
  ]);
  document.body.append(
    ...shown.map((each) => Object.assign(document.createElement('p'), { textContent: each })),
  );
  await new Promise(requestAnimationFrame);
  window.drawnMs = performance.now();
}
