// Serves a contender in its worker: answers calls of its store, and times rows of the table without those calls.

import { answerCalls } from './rpc.ts';
import { Stopwatch } from './stopwatch.ts';
import type { Configuration, Store } from './store.ts';

/** A page can call only the methods of the store. */
export function serveStore(open: (configuration: Configuration) => Promise<Store>): void {
  let store: Store;
  let watch: Stopwatch;
  answerCalls({
    open: async (configuration: Configuration) => {
      store = await open(configuration);
      watch = new Stopwatch(store);
      return Object.keys(store);
    },
    call: (name: keyof Store, parameters: readonly unknown[]) =>
      (store[name] as (...parameters: readonly unknown[]) => unknown)(...parameters),
    time: (row: string) => watch.time(row),
  });
}
