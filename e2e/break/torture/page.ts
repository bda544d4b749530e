// A tab under torture: it writes in lanes, each one write after the other, through `openStorage` and
// `connect`, holds live reads meanwhile, and reports the outcome of every write to the outside.

import { type ConnectOptions, connect, openStorage } from '../../../src/index.ts';
import type { RemoteStorage } from '../../../src/shared/contract/storage.ts';
import { tornCommits } from './each-commit.ts';
import type { Found, FoundRow, LoadEvent, Places } from './ledger.ts';
import type { Kind } from './plan.ts';
import { NEWEST, type SightedRead } from './sightings.ts';
import { watch } from './watch.ts';
import type { Classes } from './worker.ts';

const OBJECT = 'tortured';
const PAUSE_MS = 15;
/** After a refusal by a full disk, which resets the object: at once again, nobody's read would find it whole. */
const REFUSED_PAUSE_MS = 1000;
/** The sizes of the ballast on a full disk: the last ones fill the space that is left for a small write. */
const BALLAST_BYTES: readonly number[] = [100_000, 10_000, 1000, 100];
/** `?medium=indexeddb` in the address: the fallback; else the browser's best storage. */
const OPTIONS: ConnectOptions =
  location.search === '?medium=indexeddb' ? { medium: 'indexeddb' } : {};
const DIRECTORIES: Readonly<Record<Kind, string>> = {
  storage: 'ctx-storage',
  objects: 'ctx-storage-objects',
};

declare global {
  interface Window {
    /** Given from outside. */
    report(event: LoadEvent): Promise<void>;
    tab: typeof tab;
  }
}

/** The workers of this tab, by the names they lead under. */
const workers = new Map<string, Worker>();

// The leading worker is known by the name of its lock, which the page passes in its first message.
const { postMessage } = Worker.prototype;
Worker.prototype.postMessage = function (this: Worker, message: { worker?: string }) {
  if (message.worker !== undefined) workers.set(message.worker, this);
  postMessage.call(this, message);
};

const connectBook = () => {
  const address = new URL('./objects-worker.js', import.meta.url);
  return connect<Classes>(() => new Worker(address, { type: 'module' }), OPTIONS);
};

const sleep = (delayMs: number) => new Promise((resolve) => setTimeout(resolve, delayMs));

/** `about`: more that is reported of a failure. */
async function attempt<T>(
  id: string,
  act: () => Promise<T>,
  about: Pick<LoadEvent, 'isRead'> = {},
): Promise<T | undefined> {
  try {
    const result = await act();
    return result;
  } catch (error) {
    const { code, retryable, message } = error as { code?: string; retryable?: true } & Error;
    const failure = { code: code ?? message, retryable: retryable === true };
    await window.report({ id, failure, ...about });
    await sleep(code === 'DISK_FULL' ? REFUSED_PAUSE_MS : PAUSE_MS);
    return undefined;
  }
}

/** Tries until it succeeds. */
async function surely<T>(id: string, act: () => Promise<T>): Promise<T> {
  for (;;) {
    const result = await attempt(id, act);
    if (result !== undefined) return result;
  }
}

/** The lanes that write; they end on request. */
const lanes: Promise<void>[] = [];
let isWriting = false;
/** Ends the live reads. */
let unwatch = () => {};

/** `write` returns the place of its write in the order of commits, by the live reads that show it. */
async function lane(name: string, write: (id: string) => Promise<Places>): Promise<void> {
  for (let number = 0; isWriting; number++) {
    const id = `${name}:${number}`;
    const places = await attempt(id, () => write(id));
    if (places !== undefined) await window.report({ id, failure: null, places });
    await sleep(PAUSE_MS);
  }
}

async function openTable(): Promise<RemoteStorage> {
  const storage = await openStorage(OBJECT, OPTIONS);
  await storage.sql.exec('CREATE TABLE IF NOT EXISTS rows(id TEXT, n INTEGER)').ready;
  await storage.sql.exec('CREATE TABLE IF NOT EXISTS ballast(bytes BLOB)').ready;
  return storage;
}

/** Adds ever smaller things. A fault may be under way: only a full disk is the end of a size. */
async function untilFull(add: (bytes: number) => Promise<unknown>): Promise<void> {
  for (const bytes of BALLAST_BYTES) {
    for (;;) {
      const code = await add(bytes).then(
        () => undefined,
        (error) => (error as { code?: string }).code,
      );
      if (code === 'DISK_FULL') break;
      if (code !== undefined) await sleep(PAUSE_MS);
    }
  }
}

async function book() {
  return (await connectBook()).env.Book.getByName(OBJECT);
}

const tab = {
  /** Watches, and writes until it is stopped. Resolves when the lanes run. */
  async start(name: string): Promise<void> {
    isWriting = true;
    const storage = await surely(`${name}:open`, openTable);
    // A transaction takes in calls of its own handle meanwhile.
    const apart = await surely(`${name}:open`, openTable);
    const watched = await surely(`${name}:connect`, book);
    unwatch();
    const failed = (read: SightedRead, error: unknown) =>
      void attempt(`${name}:live ${read}`, () => Promise.reject(error), { isRead: true });
    unwatch = await watch(name, { storage, book: watched, failed });
    lanes.push(
      lane(`${name}:sql`, async (id) => {
        const insert = 'INSERT INTO rows VALUES(?, 0) RETURNING rowid AS n';
        return { rows: (await storage.sql.exec<{ n: number }>(insert, id).one()).n };
      }),
      lane(`${name}:put`, async (id) => {
        await storage.put(`op:${id}`, { id, text: 'x'.repeat(50) });
        return {};
      }),
      // Use a new stub each time, because a stub whose object was reset rejects from then on.
      lane(`${name}:call`, async (id) => ({ method: await (await book()).add(id) })),
      lane(`${name}:too`, async (id) => ({ method: await (await book()).addToo(id) })),
      lane(`${name}:txn`, (id) =>
        apart.transaction(async (txn) => {
          const n = ((await txn.get<number>('count')) ?? 0) + 1;
          await apart.sql.exec('INSERT INTO rows VALUES(?, ?)', id, n).ready;
          await txn.put({ count: n, [`newest:${n % NEWEST}`]: n });
          return { key: n, keys: n };
        }),
      ),
    );
  },

  /** Resolves when every write is answered. The live reads go on until the next start. */
  async stop(): Promise<void> {
    isWriting = false;
    await Promise.all(lanes.splice(0));
  },

  /** True when a worker of this tab leads. */
  async leads(kind: Kind): Promise<boolean> {
    return (await leadingWorker(kind)) !== undefined;
  },

  /** Ends the worker of this tab that leads; false when none does. */
  async terminate(kind: Kind): Promise<boolean> {
    const worker = await leadingWorker(kind);
    worker?.terminate();
    return worker !== undefined;
  },

  async abort(kind: Kind): Promise<void> {
    if (kind === 'storage') await (await openStorage(OBJECT, OPTIONS)).abort();
    else await (await book()).abort().catch(() => {}); // it rejects with the name of the request
  },

  /** Puts ballast into both objects until they refuse it, in place of that of before. The site has no room. */
  async fillDisk(): Promise<void> {
    const storage = await surely('ballast', openTable);
    const insert = 'INSERT INTO ballast VALUES(randomblob(?))';
    await untilFull((bytes) => storage.sql.exec(insert, bytes).ready);
    await untilFull(async (bytes) => (await book()).addBallast(bytes));
  },

  /** Takes the ballast away. There is room. */
  async dropBallast(): Promise<void> {
    const storage = await surely('ballast', openTable);
    await surely('ballast', () => storage.sql.exec('DELETE FROM ballast').toArray());
    await surely('ballast', async () => (await book()).dropBallast());
  },

  /** Everything that is stored. Nothing may be writing. */
  async find(): Promise<Found> {
    const storage = await openTable();
    const rows: FoundRow[] = await storage.sql
      .exec<{ id: string; n: number }>('SELECT id, n FROM rows ORDER BY rowid')
      .toArray();
    const entries = await storage.list({ prefix: 'op:' });
    const check = await storage.sql.exec<{ quick_check: string }>('PRAGMA quick_check').one();
    const called = await (await book()).all();
    const history = await (await connectBook()).storage(await book());
    return {
      rows,
      keys: [...entries.keys()].map((key) => key.slice('op:'.length)),
      transactions: (await storage.get<number>('count')) ?? 0,
      calls: called.rows,
      callCount: called.count,
      checks: [check.quick_check, called.check],
      torn: await tornCommits(history),
    };
  },
};

async function leadingWorker(kind: Kind): Promise<Worker | undefined> {
  const prefix = `ctx-storage/${DIRECTORIES[kind]}`;
  const { held = [] } = await navigator.locks.query();
  const leader = held.find(({ name }) => name === `${prefix}/leader`);
  const own = held.find(
    ({ name, clientId }) =>
      clientId === leader?.clientId && name?.startsWith(`${prefix}/worker/`) === true,
  );
  return workers.get(own?.name?.split('/').at(-1) ?? '');
}

window.tab = tab;
