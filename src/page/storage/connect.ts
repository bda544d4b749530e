// Connects a page to the classes that a worker serves, with namespaces, stubs and the management of objects.

import { PartyCaller } from '../../shared/calls/membrane/caller.ts';
import { checkedEnv, unknownClass } from '../../shared/calls/stubs/checked-env.ts';
import { mustBeStub } from '../../shared/calls/stubs/known-stubs.ts';
import { DurableObjectNamespace } from '../../shared/calls/stubs/namespace.ts';
import { FREE, Party } from '../../shared/calls/stubs/party.ts';
import { entryHandle } from '../../shared/calls/stubs/service-stub.ts';
import type { ObjectCaller } from '../../shared/calls/stubs/stub.ts';
import { fromWireAddress } from '../../shared/calls/stubs/wire-address.ts';
import type { ConnectionStatus, StatusEvents } from '../../shared/contract/connection-status.ts';
import { storageError } from '../../shared/contract/errors.ts';
import { listParts } from '../../shared/contract/list-parts.ts';
import type { DurableObjectId, DurableObjectStub } from '../../shared/contract/object.ts';
import { ObjectIdFactory } from '../../shared/contract/object-id.ts';
import type {
  NamespacesOf,
  Objects,
  ObjectsClock,
} from '../../shared/contract/object-management.ts';
import type { EntryHandle } from '../../shared/contract/service.ts';
import type { RemoteStorage as RemoteStorageInterface } from '../../shared/contract/storage.ts';
import { convertTimestamp } from '../../shared/contract/times.ts';
import { liveCalls } from '../../shared/live/live-identity.ts';
import type { WireAddress } from '../../shared/wire/address.ts';
import { fromWire } from '../../shared/wire/errors-on-wire.ts';
import type { ClassList } from '../../shared/wire/protocol.ts';
import type { LeaderFinder } from '../leader/leader-finder.ts';
import type { LeaderFinders } from '../leader/leader-finders.ts';
import { Status } from '../leader/status.ts';
import type { WorkerChoice } from '../leader/worker-choice.ts';
import { livePeers } from './live-client.ts';
import { ObjectsClient } from './objects-client.ts';
import { forkObject } from './remote-branches.ts';
import { RemoteStorage } from './remote-storage.ts';
import { Session } from './session.ts';

/** A page's connection to the classes of a worker. */
export interface RemoteObjects<Classes extends object> extends Objects<Classes>, ConnectionStatus {
  storage(stub: DurableObjectStub): Promise<RemoteStorageInterface>;
  addEventListener<Type extends keyof StatusEvents>(
    type: Type,
    listener: (event: StatusEvents[Type]) => void,
  ): void;
  removeEventListener<Type extends keyof StatusEvents>(
    type: Type,
    listener: (event: StatusEvents[Type]) => void,
  ): void;
}

/** A connection to a worker that may later serve other classes. */
export interface ConnectedClasses<Classes extends object> {
  readonly objects: RemoteObjects<Classes>;
  /** Reads the list of classes again, and updates `env`. */
  readClasses(): Promise<void>;
}

/** Connects to the worker that serves the directory. @throws as `connect` */
export async function connectObjects<Classes extends object>(
  finders: LeaderFinders,
  choice: WorkerChoice,
): Promise<RemoteObjects<Classes>> {
  return (await connectClasses<Classes>(finders, choice)).objects;
}

/** Connects to a worker whose classes may change. @throws as `connect` */
export async function connectClasses<Classes extends object>(
  finders: LeaderFinders,
  choice: WorkerChoice,
): Promise<ConnectedClasses<Classes>> {
  const finder = finders.finderFor(choice);
  const status = new Status(finder.standing, finders.environment.now);
  const client = new ObjectsClient(finder, status, finders.environment.now);
  const party = new Party(FREE, () => caller);
  const peers = livePeers(finder, finders.environment.after);
  const caller = new PartyCaller(party, client.carry, liveCalls(peers), client.follow);
  let bindings = new Map<string, string>();
  let env: object = {};
  const readClasses = async () => {
    const served = await client.classes();
    bindings = new Map(served.bindings);
    env = createEnv(served, caller);
  };
  await readClasses().catch((error) => {
    status.close(error);
    throw error;
  });
  const objects: RemoteObjects<Classes> = {
    get env() {
      return env as NamespacesOf<Classes>;
    },
    worker: entryHandle({ entry: 'default' }, caller) as EntryHandle,
    entrypoint: (entry) => entryHandle({ entry }, caller) as never,
    async list(name, options) {
      const className = bindings.get(name);
      if (className === undefined) throw unknownClass(name, bindings.keys());
      const found = await listParts(
        options,
        (part) => client.manage({ op: 'list', className, ...part }),
        ({ address }) => address.id,
      );
      return found.map(({ address, error, ...facts }) => ({
        ...namedAddress(address),
        ...facts,
        error: error && (fromWire(error) as Error),
      }));
    },
    async deleteObject(stub) {
      await client.manage({ op: 'delete', address: mustBeStub('deleteObject', stub) });
    },
    clock: clockOf(client),
    storage: (stub) => openObject(stub, finder, finders),
    fork: (...args) => forkObject(caller, finder, finders.environment.now, args) as Promise<never>,
    async close() {
      const reason = storageError('CONNECTION_CLOSED', 'The connection was closed; connect again.');
      status.close(reason);
      await finder.finish(reason);
    },
    get state() {
      return status.state;
    },
    get stateReason() {
      return status.stateReason;
    },
    get medium() {
      return status.medium;
    },
    get pendingWrites() {
      return status.pendingWrites;
    },
    get savedAt() {
      return status.savedAt;
    },
    get isOutdated() {
      return status.isOutdated;
    },
    get persisted() {
      return status.persisted;
    },
    estimate: () => status.estimate(),
    addEventListener: (type, listener) =>
      status.addEventListener(type, listener as (event: Event) => void),
    removeEventListener: (type, listener) =>
      status.removeEventListener(type, listener as (event: Event) => void),
  };
  return { objects, readClasses };
}

function createEnv({ classes, bindings }: ClassList, caller: ObjectCaller): object {
  const listed = new Map(classes.map((one) => [one.name, one]));
  const namespaces = new Map(
    bindings.map(([binding, className]) => {
      const { uniqueKey, follows = false } = listed.get(className)!;
      const ids = new ObjectIdFactory(uniqueKey);
      return [binding, new DurableObjectNamespace({ className, ids, caller, follows })];
    }),
  );
  return checkedEnv(Object.fromEntries(namespaces), namespaces.keys());
}

async function openObject(
  stub: DurableObjectStub,
  finder: LeaderFinder,
  finders: LeaderFinders,
): Promise<RemoteStorageInterface> {
  const address = mustBeStub('storage', stub);
  const { now } = finders.environment;
  const session = new Session(address.name ?? address.id, finder, now, address);
  await session.open();
  return new RemoteStorage(session, finders.environment);
}

function clockOf(client: ObjectsClient): ObjectsClock {
  return {
    now: () => client.manage({ op: 'now' }),
    set: async (time) => {
      await client.manage({ op: 'set', timeMs: convertTimestamp('set', time) });
    },
    advance: async (durationMs) => {
      await client.manage({ op: 'advance', durationMs });
    },
    runNextAlarm: async () => {
      const ran = await client.manage({ op: 'runNextAlarm' });
      return ran === null ? null : { ...namedAddress(ran.address), dueTime: ran.dueMs };
    },
    resume: async () => {
      await client.manage({ op: 'resume' });
    },
  };
}

function namedAddress(address: WireAddress): { className: string; id: DurableObjectId } {
  const { className, id } = fromWireAddress(address);
  return { className: className ?? '', id };
}
