// A page of one deployment: it connects, and writes without end until it is told to stop.

import { connect, live } from '../../../src/index.ts';
import type { RemoteObjects } from '../../../src/page/storage/connect.ts';
import type { BookWithCount, Row } from './worker.ts';

type Classes = { Book: BookWithCount };

declare global {
  interface Window {
    app: typeof app;
  }
}

const started: Promise<RemoteObjects<Classes>>[] = [];

function connected(): Promise<RemoteObjects<Classes>> {
  const address = new URL('./worker.js', import.meta.url);
  started[0] ??= connect<Classes>(() => new Worker(address, { type: 'module' })).then(watched);
  return started[0];
}

/** The notices to this page: its states, and events. */
const told: string[] = [];

function watched(objects: RemoteObjects<Classes>): RemoteObjects<Classes> {
  told.push(objects.state);
  objects.addEventListener('outdated', () => told.push('outdated'));
  objects.addEventListener('statechange', () => {
    if (told.at(-1) !== objects.state) told.push(objects.state);
  });
  return objects;
}

const book = async () => (await connected()).env.Book.getByName('book');

/** The outcomes of this page's writes. */
const writes: { acknowledged: string[]; rejected: string[] } = { acknowledged: [], rejected: [] };
let isWriting = false;
let lanes: Promise<void>[] = [];

async function write(lane: string): Promise<void> {
  for (let n = 0; isWriting; n++) {
    const id = `${lane}-${n}`;
    try {
      await (await book()).add(id);
      writes.acknowledged.push(id);
    } catch (error) {
      writes.rejected.push(`${id}: ${error}`);
    }
  }
}

const counts: number[] = [];

const app = {
  told,
  counts,
  state: async () => {
    const { state, isOutdated } = await connected();
    return [state, isOutdated] as const;
  },
  add: async (id: string) => (await book()).add(id),
  all: async (): Promise<Row[]> => (await book()).all(),
  count: async () => (await book()).count(),
  columns: async () => (await book()).columns(),
  last: async (durationMs: number) => (await book()).last(durationMs),
  /** The code of an error, or the result. */
  outcome: (call: Promise<unknown>) => call.catch((error) => `${error.code}: ${error.message}`),
  /** Follows the number of rows. */
  async follow() {
    live(await book())
      .all()
      .subscribe((rows) => counts.push(rows?.length ?? 0));
  },
  startWriting(name: string, laneCount: number) {
    isWriting = true;
    lanes = Array.from({ length: laneCount }, (_, lane) => write(`${name}-${lane}`));
  },
  written: () => writes.acknowledged.length,
  async stopWriting() {
    isWriting = false;
    await Promise.all(lanes);
    return writes;
  },
};

window.app = app;
