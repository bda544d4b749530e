// Makes the stub of an object, which has the methods of its class, `fetch`, and the object's id and name.
//
// A stub holds no connection, so it outlives the worker. It remembers only the instance that it reached first
// (`bond.ts`). It has no `then`, so an async function can return it.

import type { DurableObjectId, ObjectAddress } from '../../contract/object-id.ts';
import { refuseToClone } from '../../values/object-kind.ts';
import type { CallAddress, WireAddress } from '../../wire/address.ts';
import type { EntryEvent } from '../../wire/protocol.ts';
import type { Enter } from '../io/io-context.ts';
import { Bond } from './bond.ts';
import { Breakage } from './breakage.ts';
import { Fetcher, OWN_STUB, setFetch } from './fetcher.ts';
import { type AskFollowed, setFollowed } from './followed-calls.ts';
import type { Path } from './invoke.ts';
import { type CallLive, setAddress, setCaller, setLiveCalls } from './known-stubs.ts';
import { isIn, isRemote } from './remote-name.ts';
import { type Remote, remoteMember } from './rpc-promise.ts';
import { toWireAddress } from './wire-address.ts';
import { bothSignals, setWithSignal } from './with-signal.ts';

/** The object or entry point that a stub calls. */
export interface Callee {
  readonly address: CallAddress;
  readonly bond: Bond;
  /** The signal that cancels calls of the stub. */
  readonly signal?: AbortSignal | undefined;
  /** True if the object follows an object on a server. */
  readonly follows?: boolean;
}

/** Transports calls to objects and entry points. */
export interface ObjectCaller {
  /** Makes live calls. Absent for the code of objects. */
  readonly live?: ((address: WireAddress, signal?: AbortSignal) => CallLive) | undefined;
  /** Asks an object that follows another one. Absent for the code of objects. */
  readonly follow?: AskFollowed | undefined;
  call(to: Callee, path: Path, parameters: unknown[]): Promise<unknown>;
  get(to: Callee, path: Path): Promise<unknown>;
  fetch(
    to: Callee,
    input: Request | string | URL,
    init: RequestInit | undefined,
  ): Promise<Response>;
  /** Runs a handler of an entry point. Absent for the code of a worker. */
  run?(to: Callee, handler: EntryEvent, parameters: unknown[]): Promise<unknown>;
  /** Resolves to the reason when the instance that the stub has reached ends, or the connection to it. */
  watch(to: Callee): Promise<unknown>;
  /** Captures the running code's context, and returns a function that runs its callbacks there. */
  entrance(): Enter;
}

/** Makes a caller that forwards each call to the caller that is current then. */
export function currentCaller(current: () => ObjectCaller): ObjectCaller {
  return {
    call: (...call) => current().call(...call),
    get: (...get) => current().get(...get),
    fetch: (...fetch) => current().fetch(...fetch),
    run: (...run) => current().run!(...run),
    watch: (to) => current().watch(to),
    entrance: () => current().entrance(),
  };
}

class DurableObjectStub extends Fetcher {
  /** The object's id. A received stub lacks `id` and `name`: there, these names are members of the object's class. */
  declare readonly id: DurableObjectId;
  declare readonly name: string | undefined;

  constructor(id: DurableObjectId | null) {
    super(OWN_STUB);
    if (id === null) return;
    const options = { enumerable: true, configurable: true };
    Object.defineProperties(this, {
      name: { value: id.name, ...options },
      id: { value: id, ...options },
    });
  }

  override get [Symbol.toStringTag](): string {
    return 'DurableObject';
  }
}

// The class has the name that workerd gives it.
Object.defineProperty(DurableObjectStub, 'name', { value: 'DurableObject' });
refuseToClone(DurableObjectStub);

/** Makes the stub of an object. `follows` is true if the object follows an object on a server. */
export function createStub(
  { id, ...rest }: ObjectAddress,
  caller: ObjectCaller,
  follows = false,
): DurableObjectStub {
  const address = toWireAddress({ id, ...rest });
  return stubOf(id, { address, bond: new Bond(), ...(follows && { follows }) }, caller);
}

/** Reads and calls members of a callee by means of the caller. */
export function remoteOf(callee: Callee, caller: ObjectCaller): Remote {
  return {
    get: (path) => caller.get(callee, path),
    call: (path, parameters) => caller.call(callee, path, parameters),
  };
}

/** Makes a stub that arrived in a call or result. As in workerd, it has no `id` and `name` of its own. */
export function receivedStub(address: ObjectAddress, caller: ObjectCaller): DurableObjectStub {
  return stubOf(null, { address: toWireAddress(address), bond: new Bond() }, caller);
}

function stubOf(
  id: DurableObjectId | null,
  callee: Callee & { readonly address: WireAddress },
  caller: ObjectCaller,
): DurableObjectStub {
  const { address, signal } = callee;
  const remote = remoteOf(callee, caller);
  const breakage = new Breakage(() => caller.watch(callee));
  const onRpcBroken = (callback: unknown) => breakage.onBroken(callback, caller.entrance());
  const stub = new Proxy(new DurableObjectStub(id), {
    has: (target, name) => isIn(target, name),
    get(target, name) {
      if (name in target || !isRemote(name)) return Reflect.get(target, name);
      return name === 'onRpcBroken' ? onRpcBroken : remoteMember(remote, [name]);
    },
  });
  setFetch(stub, (...request) => caller.fetch(callee, ...request));
  setAddress(stub, address);
  setCaller(stub, caller);
  if (callee.follows === true) setFollowed(stub, { address, ask: caller.follow });
  if (caller.live !== undefined) setLiveCalls(stub, caller.live(address, signal));
  setWithSignal(stub, (added) =>
    stubOf(id, { ...callee, signal: bothSignals(signal, added) }, caller),
  );
  return stub;
}
