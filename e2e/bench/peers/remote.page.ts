// The page of contenders that have only a worker's side.

import { type Opened, serveContender } from './contender-page.ts';
import { callsOf } from './rpc.ts';
import type { Configuration, Store } from './store.ts';

serveContender(openRemote, async (opened) => opened);

async function openRemote(configuration: Configuration): Promise<Opened> {
  const worker = new Worker(new URL('./worker.js', location.href), { type: 'module' });
  const calls = callsOf(worker);
  const names: string[] = await calls('open', configuration);
  const page = Object.fromEntries(
    names.map((name) => [name, (...parameters: unknown[]) => calls('call', name, parameters)]),
  );
  return { page: page as unknown as Store, timeInWorker: (row) => calls('time', row) };
}
