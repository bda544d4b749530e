// Makes the stub of an entry point, which has the methods of its class and `fetch`.
//
// A stub holds no connection and no instance, because an entry point is constructed anew for each call.

import type { EntryAddress } from '../../wire/address.ts';
import { Bond } from './bond.ts';
import { Fetcher, OWN_STUB, setFetch } from './fetcher.ts';
import { setAddress, setCaller } from './known-stubs.ts';
import { isIn, isRemote } from './remote-name.ts';
import { remoteMember } from './rpc-promise.ts';
import { type Callee, type ObjectCaller, remoteOf } from './stub.ts';

/** Makes the stub of a service binding or of an export with props. With `sendsEvents`, it has `scheduled` and `queue`. */
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

/** Makes the stub for code outside of the worker, which has `scheduled` and `queue`. */
export function entryHandle(address: EntryAddress, caller: ObjectCaller): object {
  return serviceMembers(
    Object.assign(new Fetcher(OWN_STUB), eventsOf(address, caller)),
    address,
    caller,
  );
}

/** Makes the methods `scheduled` and `queue`, which send these events. */
export function eventsOf(address: EntryAddress, caller: ObjectCaller): object {
  const callee = { address, bond: new Bond() };
  const run =
    (handler: 'scheduled' | 'queue') =>
    (...parameters: unknown[]) =>
      caller.run!(callee, handler, parameters);
  return { scheduled: run('scheduled'), queue: run('queue') };
}

/** Makes a stub with these local members. Every other name is a member of the entry point. */
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
