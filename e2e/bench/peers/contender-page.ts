// The functions that every contender's page offers to the harness.

import { fillStores, type Opened, type TimeRow, timerOf } from '../../../demo/bench/opened.ts';
import type { Configuration, Store } from '../../../demo/bench/store.ts';

declare global {
  interface Window {
    readonly contender: {
      open(configuration: Configuration): Promise<void>;
      fill(): Promise<void>;
      readonly time: TimeRow;
    };
    /** Milliseconds from the navigation to the first answer, of a page opened with `?` and a configuration. */
    firstAnswerMs?: number;
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
    time: (row, place) => timeRow(row, place),
  };
  Object.assign(window, { contender });
  if (location.search !== '') void answerFirst(open);
}

async function answerFirst(open: (configuration: Configuration) => Promise<{ page: Store }>) {
  const { page } = await open(JSON.parse(decodeURIComponent(location.search.slice(1))));
  await page.get('k0001');
  window.firstAnswerMs = performance.now();
}
