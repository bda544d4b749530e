// Objects in this thread, without a page, for runtimes without OPFS: in memory, or on a medium that the
// caller passes. Node's entry (node-objects.ts) is built on this.
//
// Invariant: a caller here is outside of every object, so it gets clones, as a page does.

import { convertTimestamp } from '../../src/contract/arguments.ts';
import type { StorageEvents } from '../../src/contract/connection-status.ts';
import { storageError } from '../../src/contract/errors.ts';
import { listParts } from '../../src/contract/list-parts.ts';
import type { DurableObjectId } from '../../src/contract/object.ts';
import type { ObjectAddress } from '../../src/contract/object-id.ts';
import type {
  ManagedObjects,
  NamespacesOf,
  ObjectsClock,
} from '../../src/contract/object-management.ts';
import { addressOf } from '../../src/stubs/known-stubs.ts';
import type { PartyIo } from '../../src/stubs/party.ts';
import { fromWireAddress } from '../../src/stubs/wire-address.ts';
import { type Platform, startHost } from '../boot/start-host.ts';
import { MemoryCatalog } from '../catalog/catalog.ts';
import { MemoryMedium, type ObjectMedium } from '../file/medium.ts';
import type { ClockControl } from '../host/clock-control.ts';
import type { ObjectHost } from '../host/object-host.ts';
import type { ClassTable, ClassTableOptions } from '../instance/object-class.ts';
import { type App, appOf } from '../library/provided-env.ts';
import { completeLimits, type QueryLimits } from '../sql/query-limits.ts';
import { loadSqlite } from '../vfs/sqlite-module.ts';

export type { NamespacesOf } from '../../src/contract/object-management.ts';
export { live } from '../../src/live/live-stub.ts';
export { withSignal } from '../../src/stubs/with-signal.ts';
export type { FileDirectory, SyncFile } from '../file/file.ts';
export { MemoryMedium, type ObjectMedium } from '../file/medium.ts';
export type { QueryLimits } from '../sql/query-limits.ts';

/** Options of objects in this thread. */
export interface InProcessOptions extends ClassTableOptions {
  /** What the app passes to its objects, besides the namespaces. @default as given to `provideEnv` */
  readonly env?: object;
  /** How long an idle object stays in memory, in milliseconds. @default 10,000 */
  readonly idleMs?: number;
  /** How long a query may run, and how much of SQLite's memory an object may take. */
  readonly limits?: QueryLimits;
}

/** Running objects. */
export interface Objects<Table extends ClassTable> extends ManagedObjects<NamespacesOf<Table>> {
  /** The events of `StorageEvents`, as a page's connection has them. */
  addEventListener<Type extends keyof StorageEvents>(
    type: Type,
    listener: (event: StorageEvents[Type]) => void,
  ): void;
  removeEventListener<Type extends keyof StorageEvents>(
    type: Type,
    listener: (event: StorageEvents[Type]) => void,
  ): void;
  /** Ends every object after its last write is durable. */
  close(): Promise<void>;
}

/**
 * Runs the classes on the medium, or in memory when none is passed.
 *
 * `wasm`: this package's `sqlite3.wasm`, as a compiled module, as bytes, or as its address.
 *
 * @throws CLASS_INVALID, WORKER_FAILED
 */
export async function createObjects<Table extends ClassTable>(
  classes: Table,
  options: InProcessOptions & {
    readonly wasm: URL | WebAssembly.Module | Uint8Array<ArrayBuffer>;
    readonly medium?: ObjectMedium;
  },
): Promise<Objects<Table>> {
  const app = appOf(classes, options);
  const { wasm, medium = new MemoryMedium() } = options;
  const sqlite = await loadSqlite(wasm);
  const catalog = new MemoryCatalog();
  return objectsOn({ sqlite, medium, catalog, isDedicated: false }, app, options);
}

/** Runs the app on a platform that the caller provides. */
export async function objectsOn<Table extends ClassTable>(
  platform: Platform,
  app: App,
  options: InProcessOptions,
): Promise<Objects<Table>> {
  const { host, namespaces, manager, close } = await startHost(
    {
      ...platform,
      limits: completeLimits(options.limits),
      ...(options.idleMs !== undefined && { idleMs: options.idleMs }),
    },
    app.classes,
    app.env,
  );
  return {
    env: namespaces.outsideEnv as NamespacesOf<Table>,
    async list(name, options) {
      const className = app.classes.bindings.get(name) ?? name;
      const listed = await listParts(
        options,
        (part) => host.outside.send(() => manager.list(className, part)),
        ({ address }) => address.id.toString(),
      );
      return listed.map(({ address, ...facts }) => ({ ...named(address), ...facts }));
    },
    async delete(stub) {
      const address = addressOf(stub);
      if (address === undefined) {
        throw storageError('INVALID_ARGUMENT', 'delete: takes the stub of an object.');
      }
      await host.outside.send(() => manager.delete(fromWireAddress(address)));
    },
    clock: clockOf(manager.clock, host.outside),
    ...eventsOf(host),
    close: () => host.outside.send(close),
  };
}

function eventsOf({
  notices,
}: Pick<ObjectHost, 'notices'>): Pick<
  Objects<ClassTable>,
  'addEventListener' | 'removeEventListener'
> {
  const events = new EventTarget();
  notices.subscribe((notice) => {
    const detail = notice.type === 'storagelow' ? notice.space : named(notice.address);
    events.dispatchEvent(new CustomEvent(notice.type, { detail }));
  });
  return {
    addEventListener: (type, listener) =>
      events.addEventListener(type, listener as (event: Event) => void),
    removeEventListener: (type, listener) =>
      events.removeEventListener(type, listener as (event: Event) => void),
  };
}

function clockOf(clock: ClockControl, { send }: PartyIo): ObjectsClock {
  return {
    now: async () => clock.now(),
    set: async (time) => {
      const timeMs = convertTimestamp('set', time);
      return send(() => clock.set(timeMs));
    },
    advance: (durationMs) => send(() => clock.advance(durationMs)),
    async runNextAlarm() {
      const ran = await send(() => clock.runNextAlarm());
      return ran === null ? null : { ...named(ran.address), dueTime: ran.dueMs };
    },
    resume: () => send(() => clock.resume()),
  };
}

function named({ className, id }: ObjectAddress): { className: string; id: DurableObjectId } {
  return { className: className ?? '', id };
}
