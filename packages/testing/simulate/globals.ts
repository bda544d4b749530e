// Replaces the globals that the code of a run sees: Date, timers, random numbers, `fetch` and the console are those of
// its world.
//
// Invariant: code outside of every run, such as the test runner, has the platform's own globals.

import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { replaceGlobal, undoAll } from '@ctx-storage/core/calls';
import { isStorageError } from '@ctx-storage/core/errors';
import { installDate } from '@ctx-storage/worker/realm';
import { scope } from './scope.ts';
import { textOf } from './script.ts';
import type { World } from './world.ts';

/**
 * The number of runs in this thread; while there is one, the globals are replaced, because a thread has only one set.
 */
let runs = 0;
let uninstall = () => {};

/** Gives the code of runs their own globals until the returned function is called. */
export function installGlobals(): () => void {
  runs += 1;
  if (runs === 1) uninstall = install();
  return () => {
    runs -= 1;
    if (runs === 0) uninstall();
  };
}

/** The ids of these timers begin above those of the engine's and of the objects' timers. */
const FIRST_ID = 2 ** 41;
const FAST_MS_MIN = 1;

function install(): () => void {
  const world = () => scope.getStore()?.world;
  const { fetch, performance } = globalThis;
  const { random } = Math;
  const { getRandomValues, randomUUID, subtle } = crypto;
  const { digest } = subtle;
  const now = performance.now.bind(performance);
  return undoAll.bind(null, [
    installDate(globalThis, () => world()?.time.now()),
    ...installTimers(world),
    ...catchUnhandled(),
    ...keepConsole(world),
    replaceGlobal(Math, 'random', () => world()?.fraction() ?? random()),
    replaceGlobal(performance, 'now', () => world()?.time.elapsed() ?? now()),
    replaceGlobal(crypto, 'getRandomValues', <T extends ArrayBufferView>(array: T) => {
      const own = world();
      if (own === undefined) return getRandomValues.call(crypto, array as never);
      own.fill(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
      return array;
    }),
    replaceGlobal(crypto, 'randomUUID', () => world()?.uuid() ?? randomUUID.call(crypto)),
    // The platform computes digests on another thread, so the seed could not decide in which turn they end.
    replaceGlobal(subtle, 'digest', async (algorithm: AlgorithmIdentifier, data: BufferSource) => {
      if (world() === undefined) return digest.call(subtle, algorithm, data);
      const name = typeof algorithm === 'string' ? algorithm : algorithm.name;
      const bytes = ArrayBuffer.isView(data)
        ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
        : new Uint8Array(data);
      const hashed = createHash(name.replace('-', '')).update(bytes).digest();
      return new Uint8Array(hashed).buffer;
    }),
    replaceGlobal(globalThis, 'fetch', (input: RequestInfo | URL, init?: RequestInit) => {
      const own = world();
      return own === undefined ? fetch(input, init) : own.fetch(new Request(input, init));
    }),
  ]);
}

/** Replaces the timers for code that belongs to a run, but to no object. */
function installTimers(world: () => World | undefined): (() => void)[] {
  const { setTimeout, setInterval, clearTimeout, clearInterval } = globalThis;
  const cancels = new Map<unknown, () => void>();
  let lastId = FIRST_ID;
  const set = (own: World, task: () => void, delayMs: number, repeats: boolean) => {
    const id = ++lastId;
    const wait = () => {
      const fire = () => {
        if (repeats) wait();
        else cancels.delete(id);
        task();
      };
      const bound = AsyncLocalStorage.bind(fire);
      cancels.set(id, own.time.after(Math.max(FAST_MS_MIN, delayMs || 0), bound));
    };
    wait();
    return id;
  };
  const setter =
    (original: typeof setTimeout, repeats: boolean) =>
    (callback: (...args: unknown[]) => void, delayMs = 0, ...args: unknown[]) => {
      const own = world();
      if (own === undefined) return original(callback, delayMs, ...args);
      return set(own, () => callback(...args), delayMs, repeats);
    };
  const clearer = (original: typeof clearTimeout) => (id?: NodeJS.Timeout) => {
    const cancel = cancels.get(id);
    if (cancel === undefined) return original(id);
    cancels.delete(id);
    cancel();
  };
  return [
    replaceGlobal(globalThis, 'setTimeout', setter(setTimeout, false)),
    replaceGlobal(globalThis, 'setInterval', setter(setInterval as never, true)),
    replaceGlobal(globalThis, 'clearTimeout', clearer(clearTimeout)),
    replaceGlobal(globalThis, 'clearInterval', clearer(clearInterval as never)),
  ];
}

/** Writes the output of a run's code into its trace. It is printed only if a single seed is repeated. */
function keepConsole(world: () => World | undefined): (() => void)[] {
  return (['debug', 'log', 'info', 'warn', 'error'] as const).map((level) => {
    const original = console[level];
    return replaceGlobal(console, level, (...args: unknown[]) => {
      const own = world();
      own?.note(`console.${level}: ${args.map(textOf).join(' ')}`);
      if (own === undefined || own.showsConsole) original.apply(console, args);
    });
  });
}

/**
 * Makes a rejection or a listener's error that no code of a run handles fail the run, and not the process. A rejection
 * from a storage that failed or was reset is the effect of a fault and ignored, because whoever depends on the write is
 * told.
 */
function catchUnhandled(): (() => void)[] {
  return (['unhandledRejection', 'uncaughtException'] as const).map((event) => {
    const others = process.listeners(event as 'uncaughtException');
    const listener = (reason: Error, second: never) => {
      const world = scope.getStore()?.world;
      if (world === undefined) {
        for (const other of others) other.call(process, reason, second);
      } else if (!isStorageError(reason)) world.unhandled.push(reason);
    };
    process.removeAllListeners(event);
    process.on(event, listener as never);
    return () => {
      process.off(event, listener as never);
      for (const other of others) process.on(event, other);
    };
  });
}
