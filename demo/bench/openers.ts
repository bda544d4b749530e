// Opens a contender in this page, with workers of its own that end with it.

import { connect } from '../../src/index.ts';
import type { Contender } from './contenders.ts';
import type { Ends } from './ends.ts';
import { idbStore } from './idb-store.ts';
import { fillStores, type Opened, type TimeRow, timerOf } from './opened.ts';
import type { Bench } from './ours-class.ts';
import { classOf, storeOf } from './ours-store.ts';
import { openRemote, timeInWorker } from './remote.ts';
import type { Configuration } from './store.ts';

/** How long a contender may take to open and to fill its tables, even on a slow device. */
const OPEN_MS_MAX = 30_000;

export interface Running {
  readonly time: TimeRow;
  /** The medium that this package stores on; null for other contenders. */
  readonly medium: string | null;
}

interface OpenedHere extends Opened {
  readonly medium?: string | null;
}

const OPENERS: Readonly<
  Record<string, (configuration: Configuration, ends: Ends) => Promise<OpenedHere>>
> = {
  ours: async ({ name }, ends) => {
    const start = () =>
      ends.worker(new Worker(new URL('./ours.worker.ts', import.meta.url), { type: 'module' }));
    const objects = await connect<{ Bench: typeof Bench }>(start, { directory: name });
    ends.add(() => void objects.close());
    const stub = objects.env.Bench.getByName(name);
    const storage = await objects.storage(stub);
    return { page: storeOf(storage), ...classOf(stub), medium: objects.medium };
  },
  official: (configuration, ends) =>
    openRemote(
      ends.worker(new Worker(new URL('./official.worker.ts', import.meta.url), { type: 'module' })),
      configuration,
    ),
  limits: (configuration, ends) =>
    openRemote(
      ends.worker(new Worker(new URL('./limits.worker.ts', import.meta.url), { type: 'module' })),
      configuration,
    ),
  idb: async (configuration, ends) => {
    const worker = new Worker(new URL('./idb.worker.ts', import.meta.url), { type: 'module' });
    return {
      page: await idbStore(configuration.name, configuration.variant!),
      timeInWorker: await timeInWorker(ends.worker(worker), configuration),
    };
  },
};

/**
 * Opens the contender, and adds to `ends` how each part of it is closed. @throws the contender's error when
 * it refuses
 */
export async function openContender(
  { kit, configuration }: Contender,
  ends: Ends,
): Promise<Running> {
  const opening = (async () => {
    const opened = await OPENERS[kit]!(configuration, ends);
    await fillStores(opened);
    return { time: timerOf(opened), medium: opened.medium ?? null };
  })();
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new Error(`it has not opened within ${OPEN_MS_MAX / 1000} s`));
  }, OPEN_MS_MAX);
  try {
    return await Promise.race([opening, late]);
  } finally {
    clearTimeout(timer);
  }
}
