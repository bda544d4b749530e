// Objects in this thread on any platform: for the entries of runtimes without a page.
//
// Invariant: a caller here is outside of every object, so it gets clones, as a page does.

import { convertTimestamp } from '../../src/contract/arguments.ts';
import { storageError } from '../../src/contract/errors.ts';
import { listParts } from '../../src/contract/list-parts.ts';
import type { DurableObjectId } from '../../src/contract/object.ts';
import type { ObjectAddress } from '../../src/contract/object-id.ts';
import type { NamespacesOf, Objects, ObjectsClock } from '../../src/contract/object-management.ts';
import { checkedEnv, unknownClass } from '../../src/stubs/checked-env.ts';
import { mustBeStub } from '../../src/stubs/known-stubs.ts';
import type { PartyIo } from '../../src/stubs/party.ts';
import { fromWireAddress } from '../../src/stubs/wire-address.ts';
import { type Platform, startHost } from '../boot/start-host.ts';
import { systemTime } from '../clock/system-time.ts';
import type { ClockControl } from '../host/clock-control.ts';
import type { ObjectHost } from '../host/object-host.ts';
import type { ClassTable } from '../instance/object-class.ts';
import type { App } from '../library/provided-env.ts';
import { completeLimits } from '../sql/query-limits.ts';
import type { InProcessOptions } from './in-process-options.ts';
import { localStorageOf } from './local-storage.ts';
import { registerTools } from './object-tools.ts';

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
  const { bindings } = app.classes;
  const env = checkedEnv(namespaces.outsideEnv, bindings.keys()) as NamespacesOf<Table>;
  const storage = localStorageOf(host, platform.time ?? systemTime);
  const leave = registerTools({ host, manager, env }, namespaces.outsideCaller);
  return {
    env,
    async list(name, options) {
      const className = bindings.get(name);
      if (className === undefined) throw unknownClass(name, bindings.keys());
      const listed = await listParts(
        options,
        (part) => host.outside.send(() => manager.list(className, part)),
        ({ address }) => address.id.toString(),
      );
      return listed.map(({ address, ...facts }) => ({ ...named(address), ...facts }));
    },
    async deleteObject(stub) {
      const address = mustBeStub('deleteObject', stub);
      await host.outside.send(() => manager.delete(fromWireAddress(address)));
    },
    storage: (stub) => storage.open(stub),
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
