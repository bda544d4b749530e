// The helper page of a test is another tab of the app's origin, which performs the test's requests on the storage.
//
// The test's process serves it under a path that the app does not have; neither the app nor its server knows it.

import { listParts } from '@ctx-storage/core/contract';
import { isStorageError, storageError } from '@ctx-storage/core/errors';
import type { ObjectsClient, PageEnvironment, RemoteStorage } from '@ctx-storage/core/page';
import { browserEnvironment, Persistence } from '@ctx-storage/core/page';
import type { StorageChange, StorageDiff } from '@ctx-storage/core/storage';
import type { ManageRequest } from '@ctx-storage/core/wire';
import { toWire } from '@ctx-storage/core/wire';
import { HELPER_STARTED_MS } from './app-candidates.ts';
import { Directory } from './directory.ts';
import {
  type DirectoryFacts,
  fromText,
  HELPER_FUNCTION,
  type HeldTime,
  type HelperAnswer,
  type HelperRequest,
  type LeaderNames,
  type ListedByHelper,
  TIME_CHANNEL,
  toText,
} from './helper-protocol.ts';
import { RealTimers } from './real-timers.ts';

const POLL_MS = 20;

/** How often a read is made whose worker went away. */
const TRIES_MAX = 4;

class Helper {
  readonly #timers = new RealTimers();
  readonly #time = new BroadcastChannel(TIME_CHANNEL);
  readonly #environment: PageEnvironment = {
    ...browserEnvironment('objects'),
    startedMs: HELPER_STARTED_MS,
    after: this.#timers.after,
    persistence: new Persistence({}), // only the app's own page asks for persistence
  };
  readonly #directories = new Map<string, Directory>();

  /** Answers one request. It never rejects. */
  async answer(text: string): Promise<string> {
    let answer: HelperAnswer;
    try {
      answer = { ok: await this.#perform(fromText(text) as HelperRequest) };
    } catch (error) {
      answer = { error: toWire(error) };
    }
    return toText(answer);
  }

  #directory(facts: DirectoryFacts): Directory {
    const known = this.#directories.get(facts.directory);
    if (known !== undefined) return known;
    const made = new Directory(facts, this.#environment, this.#timers);
    this.#directories.set(facts.directory, made);
    return made;
  }

  async #perform(request: HelperRequest): Promise<unknown> {
    const directory = this.#directory(request.facts);
    const { waitMs } = request;
    const app = () => directory.link(request.op, 'app', waitMs);
    switch (request.op) {
      case 'storage': {
        const { object, method, parameters, need } = request;
        const run = (storage: RemoteStorage) =>
          (storage as unknown as Methods)[method]!(...parameters);
        return await this.#repeat(need === 'stored', async () =>
          run(await directory.storage(method, object, need, waitMs)),
        );
      }
      case 'sql': {
        const { object, query, bindings, need } = request;
        return await this.#repeat(need === 'stored', async () => {
          const storage = await directory.storage('sql', object, need, waitMs);
          return await storage.sql.exec(query, ...bindings).toArray();
        });
      }
      case 'fork': {
        const { object, name, at, fetch } = request;
        const { link, address } = await directory.find('fork', object, 'storage', waitMs);
        return await link.fork(address, name, { at, fetch });
      }
      case 'diff': {
        const { object, from, to, need } = request;
        return await this.#repeat(true, async () => {
          const storage = await directory.storage('diff', object, need, waitMs);
          return await changesOf(to === null ? storage.diff(from) : storage.diff(from, to));
        });
      }
      case 'call': {
        const { link, address } = await directory.find('call', request.object, 'app', waitMs);
        return await link.stub(address)[request.method]!(...request.parameters);
      }
      case 'runAlarm':
      case 'evict': {
        const { link, address } = await directory.find(request.op, request.object, 'app', waitMs);
        return await link.client.manage({ op: request.op, address });
      }
      case 'delete': {
        const { link, address } = await directory.find('delete', request.object, 'storage', waitMs);
        return await link.client.manage({ op: 'delete', address });
      }
      case 'list':
        return await this.#repeat(true, () => this.#list(directory, request.className, waitMs));
      case 'classNames':
        return await directory.classNames();
      case 'verify':
        return await directory.verify();
      case 'storageIds':
        return await directory.storageIds();
      case 'leaders':
        return await this.#leaders([directory, this.#directory(request.storages)], waitMs);
      case 'now':
        return await (await app()).client.manage({ op: 'now' });
      case 'resume':
        return await this.#resume((await app()).client);
      case 'runNextAlarm':
        return await this.#hold((await app()).client, { op: 'runNextAlarm' });
      case 'set':
        return await this.#hold((await app()).client, { op: 'set', timeMs: request.timeMs });
      case 'advance': {
        const { durationMs } = request;
        return await this.#hold((await app()).client, { op: 'advance', durationMs });
      }
      default:
        throw storageError('INTERNAL', 'A request of the test is not known to its helper page.');
    }
  }

  /** Moves the clock of the leader, and tells the other workers, one of which may lead next. */
  async #hold(client: ObjectsClient, move: ManageRequest): Promise<unknown> {
    const result = await client.manage(move);
    this.#tellTime((await client.manage({ op: 'now' })) as number);
    return result;
  }

  async #resume(client: ObjectsClient): Promise<void> {
    const heldMs = await client.manage({ op: 'now' });
    await client.manage({ op: 'resume' });
    // This is repeated, because a worker that is about to lead may have started with the previous time.
    for (;;) {
      this.#tellTime(null);
      if ((await client.manage({ op: 'now' })) !== heldMs) break;
      await this.#timers.sleep(POLL_MS);
    }
    await client.manage({ op: 'resume' }); // The timers of the new leader follow its current time.
  }

  #tellTime(heldMs: number | null): void {
    this.#time.postMessage({ heldMs } satisfies HeldTime);
  }

  /** Returns the living leaders, and waits for the first one. @throws WORKER_FAILED */
  async #leaders(directories: readonly Directory[], waitMs: number): Promise<LeaderNames> {
    const untilMs = performance.now() + waitMs;
    for (;;) {
      const served = await Promise.all(directories.map((directory) => directory.isServed()));
      const living = directories.filter((_, at) => served[at]);
      if (living.length > 0) {
        const names = await Promise.all(living.map((directory) => directory.leader(waitMs)));
        return names.filter((name) => name !== null);
      }
      if (performance.now() > untilMs) break;
      await this.#timers.sleep(POLL_MS);
    }
    const [classes, storages] = directories.map(({ name }) => `"${name}"`);
    throw storageError(
      'WORKER_FAILED',
      `leader: no worker of the app runs on ${location.origin}, for directory ${classes} of connect() or ` +
        `${storages} of openStorage(). Open a page of the app first (await page.goto(…)). If it passes another ` +
        'directory, pass the same in objectsOptions: directory, storageDirectory.',
    );
  }

  async #list(directory: Directory, name: string, waitMs: number): Promise<ListedByHelper[]> {
    const link = await directory.link('list', 'storage', waitMs);
    const className = await directory.className('list', name);
    const found = await listParts(
      undefined,
      (part) => link.client.manage({ op: 'list', className, ...part }),
      ({ address }) => address.id,
    );
    return found.map(({ address: { id, name: own }, ...facts }) => ({
      className,
      id,
      ...(own !== undefined && { name: own }),
      ...facts,
    }));
  }

  // Repeats a read whose worker went away. A write is not repeated, because it may have taken effect.
  async #repeat<T>(isRead: boolean, action: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await action();
      } catch (error) {
        const isGone = isStorageError(error) && error.code === 'CONNECTION_CLOSED';
        if (!isRead || !isGone || tries === TRIES_MAX) throw error;
      }
    }
  }
}

/** The largest number of changes that a test is given. */
const CHANGES_MAX = 10_000;

async function changesOf(diff: StorageDiff): Promise<StorageChange[]> {
  const changes: StorageChange[] = [];
  for await (const change of diff) {
    if (changes.length === CHANGES_MAX) {
      const { keys, tables } = await diff.count();
      throw storageError(
        'INVALID_ARGUMENT',
        `diff: more than ${CHANGES_MAX} changes: ${JSON.stringify({ keys, tables })}. Compare moments that are ` +
          'closer to each other, or query the rows with sql().',
      );
    }
    changes.push(change);
  }
  return changes;
}

type Methods = Record<string, (...parameters: readonly unknown[]) => Promise<unknown>>;

Reflect.set(
  globalThis,
  HELPER_FUNCTION,
  (
    (helper: Helper) => (text: string) =>
      helper.answer(text)
  )(new Helper()),
);
