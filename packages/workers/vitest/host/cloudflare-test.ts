// `cloudflare:test`, as tests of the real runtime's plugin for Vitest import it, and `objects`, the host beside it.
//
// The default export is for the modules that the plugin generates.

import { storageError } from '@ctx-storage/core/errors';
import type { EntryHandle, Objects } from '@ctx-storage/core/object';
import { TestHost } from './test-host.ts';

export { env } from '@ctx-storage/worker/realm';
export {
  abortAllDurableObjects,
  type EvictionOptions,
  evictAllDurableObjects,
  evictDurableObject,
  listDurableObjectIds,
  reset,
  runDurableObjectAlarm,
  runInDurableObject,
} from '@ctx-storage/worker/start';
export { applyD1Migrations, type MigratedDatabase, type MigrationFile } from './d1-migrations.ts';
export {
  createExecutionContext,
  createMessageBatch,
  createScheduledController,
  getQueueResult,
  waitOnExecutionContext,
} from './handler-arguments.ts';

const host = new TestHost();
export default host;

/** The host of this test file: its clock, storage and entry points. */
export const objects: Objects<Record<string, object>> = whileItRuns(() => host.objects);

/** The default entry point of the Worker under test. */
export const SELF: EntryHandle = whileItRuns(() => host.objects.worker);

// Makes a proxy of a value of the host. The proxy looks its target up on each use, because tests import it before the
// host starts.
function whileItRuns<T extends object>(target: () => object): T {
  return new Proxy({} as T, {
    get(replaced, name) {
      if (typeof name === 'symbol' || name in replaced) return Reflect.get(replaced, name);
      const current = target();
      const member: unknown = Reflect.get(current, name);
      // `fetch` is the stub's own method, which must be called on the stub.
      return name === 'fetch' ? (member as () => unknown).bind(current) : member;
    },
  });
}

const WORKFLOWS = 'workflows do not run here: test their steps as functions, or in workerd';

/** Members of the real runtime's `cloudflare:test` that do not exist here. */
export const adminSecretsStore = missing('adminSecretsStore', 'secrets are variables: set vars');
export const createPagesEventContext = missing(
  'createPagesEventContext',
  'call the function with an object of the members that it uses',
);
export const introspectWorkflow = missing('introspectWorkflow', WORKFLOWS);
export const introspectWorkflowInstance = missing('introspectWorkflowInstance', WORKFLOWS);
export const fetchMock = new Proxy(missing('fetchMock', 'use vi.spyOn(globalThis, "fetch")'), {
  get: (use, name) => (typeof name === 'symbol' ? undefined : use()),
});

function missing(name: string, way: string): () => never {
  return () => {
    throw storageError(
      'INVALID_ARGUMENT',
      `${name} of cloudflare:test does not exist here; ${way}.`,
    );
  };
}
