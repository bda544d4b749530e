// Defines the constructor `RpcStub`, which makes a stub of a local value.
//
// This is a module of its own, because it imports the code of calls between objects, which few programs need.

import { pairOfReferences } from '../../../src/shared/calls/membrane/references.ts';
import { CALLERS_IO, Party } from '../../../src/shared/calls/stubs/party.ts';
import { RpcStub as RpcStubClass } from '../../../src/shared/calls/stubs/rpc-classes.ts';
import type { RpcStub as RpcStubOf } from '../../../src/shared/contract/object.ts';
import { runningHostBindings } from './running-hosts.ts';

/**
 * Makes a stub of a local function or RpcTarget, equal to the stub that the receiver of a call would get. It can be
 * passed to several receivers, each of which disposes of its own copy. `instanceof` recognizes every such stub.
 */
export const RpcStub: { new <T extends object>(target: T): RpcStubOf<T> } = new Proxy(
  RpcStubClass,
  { construct: (_class, [target]) => stubOf(target) },
) as never;

export type RpcStub<T extends object> = RpcStubOf<T>;

function stubOf(target: unknown): object {
  if ((typeof target !== 'object' || target === null) && typeof target !== 'function') {
    throw new TypeError(
      "Failed to construct 'RpcStub': constructor parameter 1 is not of type 'Object'.",
    );
  }
  const [here, there] = pairOfReferences();
  const party = new Party(CALLERS_IO, () => runningHostBindings()!.caller);
  return there.receive(here.send(here.draft(target, party)), party) as object;
}
