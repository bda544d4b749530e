// Makes the store of a page for a contender that runs only in a worker: each call is one message.

import type { Opened } from './opened.ts';
import { callsOf } from './rpc.ts';
import type { Configuration, Store } from './store.ts';

export async function openRemote(worker: Worker, configuration: Configuration): Promise<Opened> {
  const calls = callsOf(worker);
  const names: string[] = await calls('open', configuration);
  const page = Object.fromEntries(
    names.map((name) => [name, (...parameters: unknown[]) => calls('call', name, parameters)]),
  );
  return { page: page as unknown as Store, timeInWorker: (row) => calls('time', row) };
}

/** Times rows in the worker of a store that the page has opened by itself. */
export async function timeInWorker(worker: Worker, configuration: Configuration) {
  const calls = callsOf(worker);
  await calls('open', configuration);
  return (row: string): Promise<number | null> => calls('time', row);
}
