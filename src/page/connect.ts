// A page's way to the classes its worker serves: namespaces, stubs, and the objects' storage for
// tools.

import { storageError } from '../contract/errors.ts';
import type { DurableObjectStub, Namespace } from '../contract/object.ts';
import { ObjectIdFactory } from '../contract/object-id.ts';
import type { RemoteStorage as RemoteStorageInterface } from '../contract/storage.ts';
import { FreeParty } from '../objects/free-party.ts';
import { PartyCaller } from '../objects/object-caller.ts';
import { DurableObjectNamespace } from '../objects/object-namespace.ts';
import { addressOf, type ObjectCaller } from '../objects/object-stub.ts';
import type { ClassList } from '../rpc/object-protocol.ts';
import type { Leader } from './leader.ts';
import type { Leaders, WorkerChoice } from './leaders.ts';
import { ObjectsClient } from './objects-client.ts';
import { RemoteStorage } from './remote-storage.ts';
import { Session } from './session.ts';

/** The directory of objects whose connection names none. */
export const OBJECTS_DIRECTORY = 'ctx-storage-objects';

/** The namespaces of classes, by class name and by binding. */
export type NamespacesOf<Classes extends object> = {
  readonly [Name in keyof Classes]: Namespace<Extract<Classes[Name], object>>;
};

/** A connection to the classes of a worker. */
export interface Objects<Classes extends object> {
  /** A name that the worker does not serve throws UNKNOWN_CLASS. */
  readonly env: NamespacesOf<Classes>;
  /** The storage of an object, as `openStorage` gives it: to look into it, from beside the object. */
  storage(stub: DurableObjectStub): Promise<RemoteStorageInterface>;
  /**
   * Ends the connection: what is under way rejects with CONNECTION_CLOSED. A worker that `connect`
   * started is terminated.
   */
  close(): void;
}

/** Connects to the worker that serves the directory. @throws as `connect` */
export async function connectObjects<Classes extends object>(
  leaders: Leaders,
  choice: WorkerChoice,
): Promise<Objects<Classes>> {
  const leader = leaders.find(choice);
  const client = new ObjectsClient(leader);
  const party = new FreeParty(() => caller);
  const caller = new PartyCaller(party, client.carry);
  const env = createEnv(await client.classes(), caller);
  return {
    env: env as NamespacesOf<Classes>,
    storage: (stub) => openObject(stub, leader, leaders),
    close: () =>
      leader.close(storageError('CONNECTION_CLOSED', 'The connection was closed; connect again.')),
  };
}

function createEnv({ classes, bindings }: ClassList, caller: ObjectCaller): object {
  const factories = new Map(classes.map(({ name, uniqueKey }) => [name, uniqueKey]));
  const namespaces = new Map(
    bindings.map(([binding, className]) => {
      const ids = new ObjectIdFactory(factories.get(className)!);
      return [binding, new DurableObjectNamespace({ className, ids, caller })];
    }),
  );
  return new Proxy(Object.fromEntries(namespaces), {
    get(target, name) {
      if (typeof name === 'symbol' || name in target || name === 'then' || name === 'toJSON') {
        return Reflect.get(target, name);
      }
      throw storageError(
        'UNKNOWN_CLASS',
        `The worker serves no class "${name}"; it serves: ${Object.keys(target).join(', ')}.`,
      );
    },
  });
}

async function openObject(
  stub: DurableObjectStub,
  leader: Leader,
  leaders: Leaders,
): Promise<RemoteStorageInterface> {
  const address = addressOf(stub);
  if (address === undefined) {
    throw storageError('INVALID_ARGUMENT', 'storage: takes a stub of an object.');
  }
  const session = new Session(address.name ?? address.id, leader, address);
  await session.open();
  return new RemoteStorage(session, leaders.environment.after);
}
