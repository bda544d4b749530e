// Names that programs see, in bundles whose other names are minified.
//
// Programs print and compare `ctx.constructor.name`, also when they are minified again. Keeping every name
// costs a tenth of a bundle, so only names that reach a program are kept. If a name is missing here, the test
// of this folder fails: it walks through everything that an object gets.

import { readFileSync } from 'node:fs';
import { relative, sep } from 'node:path';
import type { Plugin } from 'esbuild';

/** Classes and functions at the top of a file. */
const KEPT: Readonly<Record<string, readonly string[]>> = {
  'src/page/storage/remote-cursor.ts': ['RemoteCursor'],
  'src/page/storage/remote-kv.ts': ['RemoteKv'],
  'src/page/storage/remote-sql.ts': ['RemoteSql'],
  'src/page/storage/remote-storage.ts': ['RemoteStorage'],
  'src/shared/contract/object-id.ts': ['DurableObjectId'],
  'src/shared/contract/rpc-target.ts': ['RpcTarget'],
  'src/shared/live/live-iterator.ts': ['LiveIterator'],
  'src/shared/live/live-value.ts': ['LiveValue'],
  'src/shared/calls/sockets/install.ts': ['WebSocketRequestResponsePair'],
  'src/shared/calls/sockets/web-socket.ts': ['WebSocket', 'WebSocketPair'],
  'src/shared/calls/stubs/fetcher.ts': ['Fetcher'],
  'src/shared/calls/stubs/loopback.ts': [
    'DurableObjectClass',
    'LoopbackDurableObjectClass',
    'LoopbackDurableObjectNamespace',
  ],
  'src/shared/calls/stubs/namespace.ts': ['DurableObjectNamespace'],
  'src/shared/calls/stubs/rpc-classes.ts': ['RpcPromise', 'RpcProperty', 'RpcStub'],
  'src/shared/calls/stubs/stub.ts': ['DurableObjectStub'],
  'worker/objects/calls/facets.ts': ['DurableObjectFacets'],
  'worker/realm/globals/byte-streams.ts': ['IdentityTransformStream', 'FixedLengthStream'],
  'worker/realm/globals/caches.ts': ['Cache', 'CacheStorage'],
  'worker/realm/globals/cloudflare.ts': ['Cloudflare', 'Navigator'],
  'worker/objects/instance/durable-object-state.ts': ['DurableObjectState'],
  'worker/realm/library/base-classes.ts': [
    'DurableObject',
    'WorkerEntrypoint',
    'WorkflowEntrypoint',
  ],
  'worker/realm/modules/async-hooks.ts': ['AsyncLocalStorage', 'AsyncResource'],
  'worker/realm/modules/cloudflare-email.ts': ['EmailMessage'],
  'packages/html-rewriter/tokens.ts': [
    'AttributesIterator',
    'Comment',
    'Doctype',
    'DocumentEnd',
    'Element',
    'EndTag',
    'Text',
  ],
  'worker/realm/modules/diagnostics-channel.ts': ['Channel', 'TracingChannel'],
  'packages/html-rewriter/html-rewriter.ts': ['HTMLRewriter'],
  'worker/engine/sql/cursor.ts': ['Cursor', 'RowIterator', 'RawIterator'],
  'worker/engine/sql/sql-storage.ts': ['SqlStorage', 'Statement'],
  'worker/engine/storage/durable-object-storage.ts': ['DurableObjectStorage'],
  'worker/engine/storage/durable-object-transaction.ts': ['DurableObjectTransaction'],
  'worker/engine/storage/sync-kv-storage.ts': ['SyncKvStorage', 'ListIterator'],
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
