// The stub of an entry point: the methods of its class as promises, and `fetch`.
//
// A stub holds no connection and no instance: each call reaches code that is constructed for it.

import type { EntryAddress } from '../../wire/address.ts';
import { Bond } from './bond.ts';
import { Fetcher, OWN_STUB, setFetch } from './fetcher.ts';
import { setAddress, setCaller } from './known-stubs.ts';
import { isIn, isRemote } from './remote-name.ts';
import { remoteMember } from './rpc-promise.ts';
import { type Callee, type ObjectCaller, remoteOf } from './stub.ts';

/** The stub of a service binding, or of an export with props. `sendsEvents`: as an `EntryHandle`. */
export function serviceStub(
  address: EntryAddress,
  caller: ObjectCaller,
  sendsEvents = false,
): object {
  const own = Object.assign(new Fetcher(OWN_STUB), sendsEvents && eventsOf(address, caller));
  const stub = serviceMembers(own, address, caller);
  setAddress(stub, address);
  setCaller(stub, caller);
  return stub;
}

/** The same, for code outside of the worker: `scheduled` and `queue` send an event. */
export function entryHandle(address: EntryAddress, caller: ObjectCaller): object {
  return serviceMembers(
    Object.assign(new Fetcher(OWN_STUB), eventsOf(address, caller)),
    address,
    caller,
  );
}

/** The members that send events other than requests and calls. */
export function eventsOf(address: EntryAddress, caller: ObjectCaller): object {
  const callee = { address, bond: new Bond() };
  const run =
    (handler: 'scheduled' | 'queue') =>
    (...parameters: unknown[]) =>
      caller.run!(callee, handler, parameters);
  return { scheduled: run('scheduled'), queue: run('queue') };
}

/** A stub with these members of its own; every other name is one of the entry point. */
export function serviceMembers(own: object, address: EntryAddress, caller: ObjectCaller): object {
  const callee: Callee = { address, bond: new Bond() };
  const remote = remoteOf(callee, caller);
  const stub = new Proxy(own, {
    has: (target, name) => isIn(target, name),
    get(target, name) {
      if (name in target || !isRemote(name)) return Reflect.get(target, name);
      return remoteMember(remote, [name]);
    },
  });
  return setFetch(stub, (...request) => caller.fetch(callee, ...request));
}
