// Makes the members of `ctx.exports` that are entry points of the worker. Called with `{ props }`, each returns a stub with
// these props. That stub can be sent, the export itself cannot.

import { refuseToClone } from '../../values/object-kind.ts';
import type { EntryAddress } from '../../wire/address.ts';
import { Fetcher } from './fetcher.ts';
import { unsendable, type WriteProps, withProps } from './loopback.ts';
import { eventsOf, serviceMembers, serviceStub } from './service-stub.ts';
import type { ObjectCaller } from './stub.ts';

class LoopbackServiceStub extends Fetcher {
  override get [Symbol.toStringTag](): string {
    return 'LoopbackServiceStub';
  }
}

refuseToClone(LoopbackServiceStub);

/** Makes the export of an entry point. With `sendsEvents`, it has `scheduled` and `queue`, like an `EntryHandle`. */
export function loopbackService(
  address: EntryAddress,
  caller: ObjectCaller,
  write: WriteProps,
  sendsEvents: boolean,
): object {
  const { entry } = address;
  const call = withProps(entry, write, LoopbackServiceStub.prototype, (props) =>
    serviceStub(props === null ? address : { ...address, props }, caller, sendsEvents),
  );
  if (sendsEvents) Object.assign(call, eventsOf(address, caller));
  const way = `Send exports.${entry}({ props: {} }), or name the export on the other side.`;
  return unsendable(serviceMembers(call, address, caller), 'LoopbackServiceStub', way);
}
