// `RpcStub`: a stub of a value on this side.
//
// A module of its own: it imports the code of calls between objects, which few files of classes use.

import { pairOfReferences } from '../../../src/shared/calls/membrane/references.ts';
import { OWN, Party } from '../../../src/shared/calls/stubs/party.ts';
import { RpcStub as RpcStubClass } from '../../../src/shared/calls/stubs/rpc-classes.ts';
import type { RpcStub as RpcStubOf } from '../../../src/shared/contract/object.ts';
import { runningHostBindings } from './running-hosts.ts';

/**
 * Makes a stub of a function or RpcTarget on this side, like the stub another side would receive. Pass
 * it to several receivers, each of which disposes of its own. `instanceof` recognizes every such stub.
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
  const party = new Party(OWN, () => runningHostBindings()!.caller);
  return there.receive(here.send(here.draft(target, party)), party) as object;
}
