// Scripts that tests of tabs and faults add to the app's pages and workers, but to no build. Playwright runs them as
// text.
//
// Each function here runs in another place than this module, so it may use nothing but its arguments and globals.

import type { HeldTime } from './page/helper-protocol.ts';

/** The query parameter of a worker's script that is answered with other scripts before it. */
export const FRONT_PARAMETER = 'ctx-storage-test';

/** The channel by which a page tells the app's workers how to fail. */
export const FAULTS_CHANNEL = 'ctx-storage-test/faults';

/** The global variable of a page with the list of its workers. */
export const WORKERS_LIST = 'ctxStorageTestWorkers';

/** A worker of a page. */
export interface KnownWorker {
  readonly worker: Worker;
  /** The name that the package's page has given to the worker. */
  name: string | null;
}

/** Faults that last until the test changes them, in every worker. */
export interface LastingFaults {
  /** Whether writes fail as they do on a full disk. */
  readonly isFull: boolean;
  /** How much longer each flush takes, in milliseconds. */
  readonly delayMs: number;
}

/** The faults of workers from now on: some of the leaders only, and the lasting ones of all workers. */
export interface WorkerFaults extends Partial<LastingFaults> {
  /** How many of the next flushes fail, in whichever worker they happen. */
  readonly failFlushes?: number;
  /** How long the worker does nothing at all, in milliseconds. */
  readonly freezeMs?: number;
}

/**
 * Runs in a page, before its first script: keeps a list of the page's workers, and marks their addresses if told to.
 */
export function watchWorkers({
  list,
  parameter,
}: {
  readonly list: string;
  readonly parameter: string | null;
}): void {
  if (typeof Worker === 'undefined') return;
  const scope = globalThis as unknown as Record<string, unknown>;
  const known = (scope[list] ?? []) as KnownWorker[];
  const isWatched = list in scope;
  scope[list] = known;
  const marked = (address: unknown) => {
    const url = new URL(String(address), document.baseURI);
    if (parameter === null || !/^https?:$/.test(url.protocol)) return address;
    if (!url.searchParams.has(parameter)) {
      // searchParams is not used, because it would rewrite the rest of the query.
      url.search += `${url.search === '' ? '?' : '&'}${parameter}`;
    }
    return url.href;
  };
  globalThis.Worker = new Proxy(Worker, {
    construct(target, [address, ...rest], newTarget) {
      const worker = Reflect.construct(target, [marked(address), ...rest], newTarget) as Worker;
      if (isWatched) return worker;
      const entry: KnownWorker = { worker, name: null };
      known.push(entry);
      const post = worker.postMessage.bind(worker) as (...message: unknown[]) => void;
      worker.postMessage = (...message: unknown[]) => {
        const start = message[0] as { type?: unknown; worker?: unknown } | null | undefined;
        if (start?.type === 'start' && typeof start.worker === 'string') entry.name = start.worker;
        post(...message);
      };
      return worker;
    },
  });
}

/** Runs in a worker of the app, before it opens a file. */
export function failOnDemand(channelName: string, lasting: LastingFaults): void {
  interface Handle {
    flush(): void;
    write(...parameters: unknown[]): number;
    truncate(size: number): void;
  }
  let name: unknown = null;
  let failFlushes = 0;
  let { isFull, delayMs } = lasting;
  const spin = (durationMs: number) => {
    const untilMs = performance.now() + durationMs;
    while (performance.now() < untilMs);
  };
  const { prototype } = (
    globalThis as unknown as { FileSystemSyncAccessHandle: { prototype: Handle } }
  ).FileSystemSyncAccessHandle;
  const { flush, write, truncate } = prototype;
  const full = () => new DOMException('The test has filled the disk.', 'QuotaExceededError');
  prototype.flush = function (this: Handle) {
    spin(delayMs);
    if (failFlushes > 0) {
      failFlushes -= 1;
      channel.postMessage({ type: 'failed' });
      throw new DOMException('The test made this flush fail.', 'InvalidStateError');
    }
    flush.call(this);
  };
  prototype.write = function (this: Handle, ...parameters: unknown[]) {
    if (isFull) throw full();
    return write.apply(this, parameters);
  };
  prototype.truncate = function (this: Handle, size: number) {
    if (isFull) throw full();
    truncate.call(this, size);
  };
  addEventListener('message', ({ data }: MessageEvent) => {
    if (data?.type === 'start') name = data.worker;
  });
  const channel = new BroadcastChannel(channelName);
  channel.addEventListener('message', ({ data }: MessageEvent) => {
    if (data?.type === 'failed') failFlushes = Math.max(failFlushes - 1, 0);
    if (data?.type !== 'fail') return;
    const { faults } = data as { faults: WorkerFaults };
    // A worker that waits to lead will lead on the same disk, so it gets the fault, too.
    isFull = faults.isFull ?? isFull;
    delayMs = faults.delayMs ?? delayMs;
    if (data.worker !== name) return;
    failFlushes = faults.failFlushes ?? failFlushes;
    channel.postMessage({ type: 'done', number: data.number });
    spin(faults.freezeMs ?? 0);
  });
}

/**
 * Runs in a worker of the app, and makes its system's time stand still. The objects' clock is based on it. A test
 * controls that clock only in the worker that leads, but any other worker may lead next.
 */
export function holdTime(channelName: string, { heldMs }: HeldTime): void {
  const systemNow = Date.now.bind(Date);
  let held = heldMs;
  Date.now = () => held ?? systemNow();
  new BroadcastChannel(channelName).addEventListener('message', ({ data }: MessageEvent) => {
    held = (data as HeldTime).heldMs;
  });
}

/** Runs in a page of the app: tells the worker of this name how to fail, and waits for its confirmation. */
export function tellFaults([channelName, worker, faults]: [
  string,
  string,
  WorkerFaults,
]): Promise<void> {
  return new Promise((resolve) => {
    const channel = new BroadcastChannel(channelName);
    const number = Math.random();
    channel.addEventListener('message', ({ data }: MessageEvent) => {
      if (data?.type !== 'done' || data.number !== number) return;
      channel.close();
      resolve();
    });
    channel.postMessage({ type: 'fail', worker, number, faults });
  });
}
