// A page of an app whose browser refuses one call: each way of using the package.

import { connect, isStorageError, openStorage, withSignal } from '../../../src/index.ts';
import type { Classes } from './worker.ts';

declare global {
  interface Window {
    useEverything: typeof useEverything;
  }
}

/** Starts the worker that refuses the calls named in its address, as the page does. */
const workerAt = (name: string) => `/refusing-${name}.js${location.search}`;

async function useStorage(): Promise<string> {
  const storage = await openStorage('refusals', {
    workerUrl: workerAt('worker'),
    wasmUrl: '/sqlite3.wasm',
  });
  const from = await storage.getCurrentBookmark();
  await storage.put('a', 1);
  await storage.sql.exec('CREATE TABLE IF NOT EXISTS t (x)').toArray();
  const { signal } = new AbortController();
  await withSignal(storage, signal).sql.exec('INSERT INTO t VALUES (1)').toArray();
  await new Promise<void>((seen, onError) => {
    const live = storage.live({ key: 'a' });
    live.subscribe(() => seen(), { onError });
  });
  if ((await storage.diff(from).count()).keys.added !== 1) throw new Error('the diff is wrong');
  await storage.importDatabase(await storage.exportDatabase());
  const value = await storage.get('a');
  const { medium } = storage;
  await storage.close();
  if (value !== 1) throw new Error(`${value} was stored`);
  return `stored on ${medium}`;
}

async function useEarly(): Promise<string> {
  const places = { workerUrl: workerAt('worker'), wasmUrl: '/sqlite3.wasm', directory: 'early' };
  const storage = await openStorage('refusals', { ...places, early: true });
  await storage.put('a', 1);
  const { medium } = storage;
  await storage.close();
  return `stored on ${medium}`;
}

async function useClasses(): Promise<string> {
  const start = () => new Worker(workerAt('objects'), { type: 'module' });
  const objects = await connect<Classes>(start, { wasmUrl: '/sqlite3.wasm' });
  const counter = objects.env.Counter.getByName('a');
  if ((await counter.add()) !== 1) throw new Error('the count is wrong');
  const { medium } = objects;
  await objects.close();
  return `stored on ${medium}`;
}

/** How each way ended: with the medium, or with the code of an error. */
async function useEverything(): Promise<string[]> {
  const outcomes: string[] = [];
  for (const use of [useStorage, useEarly, useClasses]) {
    outcomes.push(
      await use().catch((error) => (isStorageError(error) ? error.code : String(error))),
    );
  }
  return outcomes;
}

window.useEverything = useEverything;
