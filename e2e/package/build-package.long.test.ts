import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { afterAll, expect, test } from 'vitest';
import type * as Library from '../../worker/realm/library/library.ts';
import type * as InProcess from '../../worker/start/entries/in-process.ts';
import { minifyAgain } from './minify-again.ts';
import { forBrowsers } from './package-bundle.ts';

const WORKER = resolve(import.meta.dirname, '../../worker');
const folder = mkdtempSync(join(tmpdir(), 'ctx-storage-names-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('[OBJ17] classes of the platform keep their names in the bundles for browsers', async () => {
  const outfile = join(folder, 'bundle.mjs');
  await build({
    ...forBrowsers,
    stdin: {
      contents:
        "export * from './start/entries/in-process.ts'; export * from './realm/library/library.ts';",
      resolveDir: WORKER,
      loader: 'ts',
    },
    outfile,
  });
  await minifyAgain(outfile);
  const bundle: typeof InProcess & typeof Library = await import(pathToFileURL(outfile).href);
  let alarmed = (_info: object) => {};
  class Named extends bundle.DurableObject<{ Named: object }> {
    alarm(info: object) {
      alarmed(info);
    }
    async nameOfAlarm() {
      const info = new Promise<object>((resolve) => {
        alarmed = resolve;
      });
      await this.ctx.storage.setAlarm(Date.now());
      return nameOf(await info);
    }
    async names() {
      const { ctx, env } = this;
      const { storage } = ctx;
      const { WebSocketPair } = globalThis as unknown as { WebSocketPair: new () => object[] };
      const pair = new WebSocketPair();
      const transaction = await storage.transaction(async (txn) => nameOf(txn));
      return [
        ...[ctx, storage, storage.sql, storage.sql.exec('SELECT 1'), storage.kv].map(nameOf),
        ...[ctx.id, env.Named, pair, pair[0]!].map(nameOf),
        transaction,
        ...[storage.sql.exec('SELECT 1').raw(), storage.kv.list(), ctx.facets].map(nameOf),
        ...[ctx.exports.Named!, caches, navigator].map(nameOf),
        ...[fetch, setTimeout, Date.now, queueMicrotask, Headers.prototype.getAll!].map(ownName),
      ];
    }
  }
  const wasm = new Uint8Array(readFileSync(join(WORKER, 'engine/vfs/sqlite3.wasm')));
  const objects = await bundle.createObjects({ Named }, { wasm });
  try {
    // The names are those of workerd.
    expect(await objects.env.Named.getByName('a').names()).toEqual([
      ...['DurableObjectState', 'DurableObjectStorage', 'SqlStorage', 'Cursor', 'SyncKvStorage'],
      ...['DurableObjectId', 'DurableObjectNamespace', 'WebSocketPair', 'WebSocket'],
      'DurableObjectTransaction',
      ...['RawIterator', 'ListIterator', 'DurableObjectFacets', 'LoopbackDurableObjectNamespace'],
      ...['CacheStorage', 'Navigator', 'fetch', 'setTimeout', 'now', 'queueMicrotask', 'getAll'],
    ]);
    expect(await objects.env.Named.getByName('a').nameOfAlarm()).toBe('AlarmInvocationInfo');
  } finally {
    await objects.close();
  }
  const { DurableObject, RpcTarget, RpcStub, WorkerEntrypoint, WorkflowEntrypoint } = bundle;
  const exported = { DurableObject, RpcTarget, RpcStub, WorkerEntrypoint, WorkflowEntrypoint };
  expect(Object.values(exported).map(({ name }) => name)).toEqual(Object.keys(exported));
});

declare global {
  interface Headers {
    getAll?: () => string[];
  }
}

function ownName({ name }: { readonly name: string }): string {
  return name;
}

function nameOf(value: object): string {
  return value.constructor.name;
}
