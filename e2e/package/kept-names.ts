// Names that programs see, in bundles whose other names are minified.
//
// `ctx.constructor.name` is what programs print, and compare, also when they are minified again. Keeping every
// name costs a tenth of a bundle, so those are kept that reach a program. A name that is missing here shows in
// the test of this folder, which walks through what an object is given.

import { readFileSync } from 'node:fs';
import { relative, sep } from 'node:path';
import type { Plugin } from 'esbuild';

/** Classes and functions at the top of a file. */
const KEPT: Readonly<Record<string, readonly string[]>> = {
  'src/client/remote-cursor.ts': ['RemoteCursor'],
  'src/client/remote-kv.ts': ['RemoteKv'],
  'src/client/remote-sql.ts': ['RemoteSql'],
  'src/client/remote-storage.ts': ['RemoteStorage'],
  'src/contract/object-id.ts': ['DurableObjectId'],
  'src/contract/rpc-target.ts': ['RpcTarget'],
  'src/live/live-iterator.ts': ['LiveIterator'],
  'src/live/live-value.ts': ['LiveValue'],
  'src/sockets/install.ts': ['WebSocketRequestResponsePair'],
  'src/sockets/web-socket.ts': ['WebSocket', 'WebSocketPair'],
  'src/stubs/loopback.ts': [
    'DurableObjectClass',
    'LoopbackDurableObjectClass',
    'LoopbackDurableObjectNamespace',
  ],
  'src/stubs/namespace.ts': ['DurableObjectNamespace'],
  'src/stubs/stub.ts': ['DurableObjectStub'],
  'worker/calls/facet-stub.ts': ['ServiceStub'],
  'worker/calls/facets.ts': ['DurableObjectFacets'],
  'worker/globals/byte-streams.ts': ['IdentityTransformStream', 'FixedLengthStream'],
  'worker/globals/caches.ts': ['Cache', 'CacheStorage'],
  'worker/globals/cloudflare.ts': ['Cloudflare'],
  'worker/globals/navigator.ts': ['Navigator'],
  'worker/instance/durable-object-state.ts': ['DurableObjectState'],
  'worker/library/base-classes.ts': ['DurableObject', 'WorkerEntrypoint', 'WorkflowEntrypoint'],
  'worker/modules/async-hooks.ts': ['AsyncLocalStorage', 'AsyncResource'],
  'worker/modules/cloudflare-email.ts': ['EmailMessage'],
  'worker/modules/diagnostics-channel.ts': ['Channel', 'TracingChannel'],
  'worker/sql/cursor.ts': ['Cursor', 'RowIterator', 'RawIterator'],
  'worker/sql/sql-storage.ts': ['SqlStorage', 'Statement'],
  'worker/storage/durable-object-storage.ts': ['DurableObjectStorage'],
  'worker/storage/durable-object-transaction.ts': ['DurableObjectTransaction'],
  'worker/storage/sync-kv-storage.ts': ['SyncKvStorage', 'ListIterator'],
};

const REPOSITORY = new URL('../../', import.meta.url).pathname;

export const keptNames: Plugin = {
  name: 'kept-names',
  setup(bundle) {
    bundle.onLoad({ filter: /[\\/](src|worker)[\\/].*\.ts$/ }, ({ path }) => {
      const file = relative(REPOSITORY, path).split(sep).join('/');
      const names = KEPT[file];
      if (names === undefined) return undefined;
      const source = readFileSync(path, 'utf8');
      for (const name of names) {
        if (!source.includes(`class ${name} `) && !source.includes(`class ${name}<`)) {
          throw new Error(`kept-names: ${file} has no class ${name}`);
        }
      }
      const statements = names.map(
        (name) =>
          `Object.defineProperty(${name}, 'name', { value: '${name}', configurable: true });`,
      );
      return { contents: `${source}\n${statements.join('\n')}`, loader: 'ts' };
    });
  },
};
