// Runs workloads on objects of the package, beside the storage; and times a restore, and a copy of as many bytes.

import { idOfStorage } from '../../../src/shared/contract/object-id.ts';
import type { DurableObjectState } from '../../../worker/objects/instance/durable-object-state.ts';
import { objectRealm } from '../../../worker/realm/globals/object-realm.ts';
import { startBrowserHost } from '../../../worker/start/boot/browser-host.ts';
import workloads from '../workloads.mjs';

type Workload = {
  readonly commits?: number;
  setup?(ctx: unknown): Promise<void>;
  run(ctx: unknown): Promise<number>;
};

const host = startBrowserHost({ realm: objectRealm, directory: 'bench-objects' });

/** The host with objects by name. */
async function openObjects() {
  const { host: opened } = await host;
  const addressOf = (name: string) => ({ className: null, id: idOfStorage(name) });
  return {
    deliver: <T>(name: string, event: (ctx: DurableObjectState) => Promise<T>) =>
      opened.deliver(addressOf(name), ({ state }) => event(state)),
    reset: (name: string, reason: Error) => opened.reset(addressOf(name), reason),
    erase: (name: string) => opened.erase(addressOf(name)),
  };
}

type Request =
  | { readonly op: 'workload'; readonly name: string; readonly object: string }
  | { readonly op: 'restore'; readonly entries: number; readonly commits: number };

self.addEventListener('message', async ({ data: { id, request } }: MessageEvent) => {
  try {
    self.postMessage({ id, result: await answer(request) });
  } catch (error) {
    self.postMessage({ id, error: String((error as Error).stack ?? error) });
  }
});

async function answer(request: Request): Promise<unknown> {
  switch (request.op) {
    case 'workload':
      return runWorkload(request);
    case 'restore':
      return timeRestore(request.entries, request.commits);
  }
}

async function runWorkload({ name, object }: { name: string; object: string }) {
  const objects = await openObjects();
  const workload = (workloads as Record<string, Workload>)[name]!;
  if (workload.setup) await objects.deliver(object, (ctx) => workload.setup!(ctx));
  const commitsBefore = await objects.deliver(object, commitCount);
  const startMs = performance.now();
  const operations = await objects.deliver(object, (ctx) => workload.run(ctx));
  const elapsedMs = performance.now() - startMs;
  const commits = (await objects.deliver(object, commitCount)) - commitsBefore;
  const { commits: commitsMin = 0 } = workload;
  if (commits < commitsMin) {
    throw new Error(`${name}: ${commits} commits, at least ${commitsMin}: a round changed nothing`);
  }
  await objects.erase(object);
  return { operations, elapsedMs };
}

/** How many commits the object has made: the second group of a bookmark counts them. */
async function commitCount({ storage }: DurableObjectState): Promise<number> {
  const [, sequence] = (await storage.getCurrentBookmark()).split('-');
  return Number.parseInt(sequence!, 16);
}

/**
 * Measures, in milliseconds, a restore over this many commits until the first read is answered, the first write after
 * it, and a copy of a file as big as the database.
 */
async function timeRestore(entries: number, commits: number) {
  const objects = await openObjects();
  const value = () => crypto.getRandomValues(new Uint8Array(880));
  const databaseBytes = await objects.deliver('restore', async ({ storage }) => {
    for (let first = 0; first < entries; first += 1000) {
      for (let i = first; i < first + 1000; i++) storage.kv.put(`key ${i}`, value());
      await storage.sync();
    }
    const bookmark = await storage.getCurrentBookmark();
    for (let i = 0; i < commits; i++) {
      storage.kv.put(`key ${Math.floor(Math.random() * entries)}`, value());
      await storage.sync();
    }
    await storage.onNextSessionRestoreBookmark(bookmark);
    return storage.sql.databaseSize;
  });
  await objects.reset('restore', new Error('to be restored'));
  const startMs = performance.now();
  await objects.deliver('restore', ({ storage }) => storage.get('key 0'));
  const restoreMs = performance.now() - startMs;
  const writeStartMs = performance.now();
  await objects.deliver('restore', ({ storage }) => storage.put('key 0', 0));
  const writeMs = performance.now() - writeStartMs;
  await objects.erase('restore');
  return { databaseBytes, restoreMs, writeMs, copyMs: await timeCopy(databaseBytes) };
}

async function timeCopy(sizeBytes: number): Promise<number> {
  const root = await navigator.storage.getDirectory();
  const open = async (name: string) =>
    (await root.getFileHandle(name, { create: true })).createSyncAccessHandle();
  const from = await open('bench-from');
  const to = await open('bench-to');
  const chunk = crypto.getRandomValues(new Uint8Array(65_536));
  for (let at = 0; at < sizeBytes; at += chunk.length) from.write(chunk, { at });
  from.flush();
  const large = new Uint8Array(1 << 20);
  const startMs = performance.now();
  for (let at = 0; at < sizeBytes; at += large.length) {
    const count = from.read(large, { at });
    to.write(large.subarray(0, count), { at });
  }
  to.flush();
  const copyMs = performance.now() - startMs;
  from.close();
  to.close();
  await Promise.all([root.removeEntry('bench-from'), root.removeEntry('bench-to')]);
  return copyMs;
}
