// `RpcStub`: a stub of what is on this side.
//
// A module of its own: it brings along how calls cross between objects, which few files of classes use.

import type { RpcStub as RpcStubOf } from '../../src/contract/object.ts';
import { pairOfReferences } from '../../src/membrane/references.ts';
import { isRpcStub } from '../../src/stubs/known-stubs.ts';
import { OWN, Party } from '../../src/stubs/party.ts';
import { runningHostBindings } from './running-hosts.ts';

/**
 * Makes a stub of a function or RpcTarget on this side, like the stub another side would receive. Pass
 * it to several receivers, each of which disposes of its own. `instanceof` recognizes every such stub.
 */
// Named here, because a variable's name does not outlive a minifier.
export const RpcStub: { new <T extends object>(target: T): RpcStubOf<T> } = Object.defineProperty(
  class {
    constructor(target: object) {
      const [here, there] = pairOfReferences();
      const party = new Party(OWN, () => runningHostBindings()!.caller);
      // biome-ignore lint/correctness/noConstructorReturn: a stub is a proxy of its target's members
      return there.receive(here.send(here.draft(target, party)), party) as object;
    }

    static [Symbol.hasInstance](value: unknown): boolean {
      return typeof value === 'function' && isRpcStub(value);
    }
  },
  'name',
  { value: 'RpcStub', configurable: true },
) as never;

export type RpcStub<T extends object> = RpcStubOf<T>;
