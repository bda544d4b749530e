// Runs objects in this thread on a given platform. The entries for runtimes without a page share it.
//
// Invariant: callers are outside of every object, so they get clones of values, as a page does. No assertion keeps
// this: no code can see who else refers to a value.

import { checkedEnv, unknownClass } from '../../../src/shared/calls/stubs/checked-env.ts';
import { mustBeStub } from '../../../src/shared/calls/stubs/known-stubs.ts';
import type { PartyIo } from '../../../src/shared/calls/stubs/party.ts';
import { entryHandle } from '../../../src/shared/calls/stubs/service-stub.ts';
import { fromWireAddress } from '../../../src/shared/calls/stubs/wire-address.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import {
  checkHistoryLimits,
  type HistoryLimits,
} from '../../../src/shared/contract/history-limits.ts';
import { listParts } from '../../../src/shared/contract/list-parts.ts';
import type { DurableObjectId } from '../../../src/shared/contract/object.ts';
import type { ObjectAddress } from '../../../src/shared/contract/object-id.ts';
import type {
  NamespacesOf,
  Objects,
  ObjectsClock,
} from '../../../src/shared/contract/object-management.ts';
import type { EntryHandle } from '../../../src/shared/contract/service.ts';
import { convertTimestamp } from '../../../src/shared/contract/times.ts';
import {
  completeLimits,
  OPEN_FILES_UNBOUNDED,
  type QueryLimits,
} from '../../engine/sql/query-limits.ts';
import * as lateParts from '../../engine/storage/late-parts.ts';
import { lateCode } from '../../engine/storage/load-late.ts';
import { systemTime } from '../../objects/clock/clock.ts';
import type { EntryOptions } from '../../objects/entries/workers.ts';
import type { ClockControl } from '../../objects/host/clock-control.ts';
import type { ObjectHost, StartFollowing } from '../../objects/host/object-host.ts';
import type { ClassTable, ClassTableOptions } from '../../objects/instance/object-class.ts';
import type { App } from '../../realm/library/provided-env.ts';
import { wholeRealm } from '../../realm/modules/whole-realm.ts';
import { type Platform, startHost } from '../boot/start-host.ts';
import { localStorageOf } from './local-storage.ts';
import { registerTools } from './object-tools.ts';
import { outsideEnv } from './outside-env.ts';

/** Runs the app on the given platform. `openFiles` is the default limit of open files. */
export async function objectsOn<Table extends ClassTable>(
  platform: Omit<Platform, 'realm'>,
  app: App,
  options: InProcessOptions,
  openFiles = OPEN_FILES_UNBOUNDED,
): Promise<Objects<Table>> {
  lateCode.give(lateParts); // Outside of a browser, loading a second file later would only be slower.
  const running = await startHost(
    {
      ...platform,
      realm: wholeRealm,
      limits: completeLimits(options.limits, undefined, { openFiles }),
      history: checkHistoryLimits('createObjects', options.history),
      ...(options.idleMs !== undefined && { idleMs: options.idleMs }),
    },
    app.classes,
    app,
  );
  const { host, namespaces, manager, close } = running;
  const { bindings } = app.classes;
  const env = checkedEnv(outsideEnv(namespaces), bindings.keys()) as NamespacesOf<Table>;
  const storage = localStorageOf(host, platform.time ?? systemTime);
  const worker = entryHandle({ entry: 'default' }, namespaces.outsideCaller) as EntryHandle;
  const leave = registerTools(running, [namespaces.outsideCaller, namespaces.ambient, worker]);
  return {
    env,
    worker,
    entrypoint: (entry) => entryHandle({ entry }, namespaces.outsideCaller) as never,
    async list(name, options) {
      const className = bindings.get(name) ?? app.classes.find(name)?.name;
      if (className === undefined) throw unknownClass(name, bindings.keys());
      const listed = await listParts(
        options,
        (part) => host.outside.send(() => manager.list(className, part)),
        ({ address }) => address.id.toString(),
      );
      return listed.map(({ address, ...facts }) => ({ ...namedAddress(address), ...facts }));
    },
    async deleteObject(stub) {
      const address = mustBeStub('deleteObject', stub);
      await host.outside.send(() => manager.delete(fromWireAddress(address)));
    },
    storage: (stub) => storage.open(stub),
    fork: (...args) => storage.fork(namespaces.outsideCaller, args) as Promise<never>,
    clock: clockOf(manager.clock, host.outside),
    ...eventsOf(host),
    close() {
      storage.close(
        storageError('CONNECTION_CLOSED', 'The objects were closed; create them again.'),
      );
      return host.outside.send(close).finally(leave);
    },
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
    const detail = notice.type === 'storagelow' ? notice.space : namedAddress(notice.address);
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
      return ran === null ? null : { ...namedAddress(ran.address), dueTime: ran.dueMs };
    },
    resume: () => send(() => clock.resume()),
  };
}

function namedAddress({ className, id }: ObjectAddress): {
  className: string;
  id: DurableObjectId;
} {
  return { className: className ?? '', id };
}

/** Options of `createObjects`, in every runtime that has no page. */
export interface InProcessOptions extends Omit<ClassTableOptions, 'bindings'>, EntryOptions {
  /** The members of `env` besides the namespaces. @default the members given to `provideEnv` */
  readonly env?: object;
  /** Makes objects follow objects on a server: the result of `follow` from `ctx-storage/worker/follow`. @default none */
  readonly follow?: StartFollowing;
  /** The time after which an idle object is evicted from memory, in milliseconds. @default 10,000 */
  readonly idleMs?: number;
  /** The limits of a query's time, and of an object's memory in SQLite. */
  readonly limits?: QueryLimits;
  /** The limits of each object's history. @default 30 days, within 256 MiB or the size of its database */
  readonly history?: HistoryLimits;
}
