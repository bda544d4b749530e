// Passes functions, RpcTargets and stubs of either to the other side, where each arrives as a stub: a function whose
// members can be called and awaited.
//
// Invariant: the code behind a reference runs in the critical section from which the reference was passed. A target is
// disposed of once, when its last handle has ended.

import { RpcTarget } from '../../contract/rpc-target.ts';
import { notSerializable } from '../../values/object-kind.ts';
import type { Payload } from '../../wire/address.ts';
import type { ReferenceRequest } from '../../wire/protocol.ts';
import type { Enter } from '../io/io-context.ts';
import { Breakage } from '../stubs/breakage.ts';
import { callMember, parametersIn, readMember } from '../stubs/invoke.ts';
import { addRpcStub, isMember, isRpcStub } from '../stubs/known-stubs.ts';
import type { Party } from '../stubs/party.ts';
import { withCallers } from '../stubs/remote-error.ts';
import { isIn, isRemote } from '../stubs/remote-name.ts';
import { RpcStub } from '../stubs/rpc-classes.ts';
import {
  DISPOSE,
  disposedError,
  disposeOf,
  type Remote,
  remoteMember,
  rpcPromise,
} from '../stubs/rpc-promise.ts';
import type { Exported, Ownership, ReferenceChannel } from './channel.ts';
import type { Imported } from './imported.ts';
import { type ReferenceKind, unsupportedRequestError } from './kind.ts';
import { checkDraftSize } from './payload-limit.ts';

export const callable: ReferenceKind<object> = {
  by: 'reference',
  recognizes: (value): value is object => typeof value === 'function' || value instanceof RpcTarget,
  leave(thing, party, ownership) {
    if (isMember(thing)) {
      throw notSerializable('RpcProperty', 'A member of a stub has no value yet; await it first.');
    }
    if (disposals.get(thing)?.()) return undefined;
    return isRpcStub(thing)
      ? new ExportedStub(thing, party, ownership)
      : new ExportedTarget(thing, party);
  },
  arrive: stubOf,
};

/** Answers the other side's requests for a local function or RpcTarget. */
class ExportedTarget implements Exported {
  readonly #target: object;
  readonly #party: Party;
  readonly #enter: Enter;
  readonly #watchers = new Watchers();

  constructor(target: object, party: Party) {
    this.#target = target;
    this.#party = party;
    this.#enter = party.io.entrance();
  }

  retain(): () => void {
    return this.#party.io.retain();
  }

  ask(request: ReferenceRequest, channel: ReferenceChannel): Promise<Payload | null> {
    if (request.op === 'watch') return this.#watchers.add((told) => this.#party.io.onEnd(told));
    return answerRequest(this.#target, request, channel, this.#party, this.#enter);
  }

  // An error of the disposer is dropped, as in workerd, because nothing waits for it.
  release(): void {
    this.#watchers.end();
    this.#enter(() => disposeOf(this.#target)).catch(() => {});
  }
}

/** Forwards the other side's requests to a stub of a third side, which decides which members are public. */
class ExportedStub implements Exported {
  readonly #given: object;
  readonly #ownership: Ownership;
  readonly #party: Party;
  readonly #enter: Enter;
  readonly #watchers = new Watchers();
  /** A duplicate of the sender's stub, because the sender may dispose of its own stub at once. */
  readonly #stub: object;

  constructor(stub: object, party: Party, ownership: Ownership) {
    this.#given = stub;
    this.#stub = Reflect.get(stub, 'dup')();
    this.#ownership = ownership;
    this.#party = party;
    this.#enter = party.io.entrance();
  }

  retain(): () => void {
    return this.#party.io.retain();
  }

  ask(request: ReferenceRequest, channel: ReferenceChannel): Promise<Payload | null> {
    if (request.op === 'watch') {
      return this.#watchers.add((told) => {
        Reflect.get(this.#stub, 'onRpcBroken')(told);
        return this.#party.io.onEnd(told);
      });
    }
    return answerRequest(this.#stub, request, channel, this.#party, this.#enter);
  }

  release(): void {
    this.#watchers.end();
    disposeOf(this.#stub);
    if (this.#ownership === 'given') disposeOf(this.#given);
  }
}

/** Answers the other side's requests `watch`, which wait until a reference stops working. */
class Watchers {
  readonly #ends = new Set<() => void>();

  /**
   * Returns a promise that rejects with the reason when the reference breaks, and resolves to null once the reference
   * is released. `watch` returns the function that stops watching.
   */
  add(watch: (told: (reason: unknown) => void) => () => void): Promise<null> {
    return new Promise((resolve, reject) => {
      let stop = () => {};
      const end = () => {
        this.#ends.delete(end);
        stop();
        resolve(null);
      };
      this.#ends.add(end);
      stop = watch((reason) => {
        this.#ends.delete(end);
        reject(reason);
      });
    });
  }

  end(): void {
    for (const end of this.#ends) end();
  }
}

/** Calls or reads the member at the path, as an event of the party. */
async function answerRequest(
  target: object,
  request: ReferenceRequest,
  channel: ReferenceChannel,
  party: Party,
  enter: Enter,
): Promise<Payload> {
  let parameters: unknown[] | undefined;
  try {
    const draft = await enter(async () => {
      switch (request.op) {
        case 'call': {
          parameters = parametersIn(channel.receive(request.payload, party));
          const result = await callMember(target, request.path, parameters);
          return checkDraftSize(channel.draft(result, party, 'given'));
        }
        case 'get':
          return checkDraftSize(
            channel.draft(await readMember(target, request.path), party, 'given'),
          );
        default:
          throw unsupportedRequestError(request);
      }
    });
    return channel.send(draft);
  } finally {
    disposeOf(parameters); // Stubs in arguments are lent only for the call.
  }
}

/** Functions that tell whether a stub was disposed of. */
const disposals = new WeakMap<object, () => boolean>();

/** Makes the stub of a function or RpcTarget of the other side. */
function stubOf(imported: Imported, isDisposed = imported.isDisposed): object {
  const { party } = imported;
  let end = () => {};
  const ask = async (send: () => Promise<Payload | null>): Promise<unknown> => {
    if (isDisposed) throw disposedError('stub');
    let payload: Payload | null;
    try {
      payload = await send();
    } catch (error) {
      throw withCallers(error);
    }
    return imported.read(payload!);
  };
  const remote: Remote = {
    get: (path) => ask(() => imported.send({ op: 'get', path })),
    call: (path, parameters) =>
      ask(() => {
        const draft = checkDraftSize(imported.draft(parameters));
        return imported.sendDraft(draft, (payload) => ({ op: 'call', path, payload }));
      }),
  };
  const dispose = () => {
    isDisposed = true;
    end();
  };
  const breakage = new Breakage(() => imported.watch());
  const onRpcBroken = (callback: unknown) => {
    const enter = party.io.entrance();
    breakage.onBroken(callback, async (task) => (isDisposed ? undefined : enter(task)) as never);
  };
  const stub: object = new Proxy(() => {}, {
    apply: (_target, _this, parameters) => rpcPromise(remote.call([], parameters)),
    get(target, name, self: object) {
      if (name === DISPOSE) return dispose;
      if (name === 'dup') return () => stubOf(imported, isDisposed);
      if (name === 'onRpcBroken') return onRpcBroken;
      if (name === 'toString') return () => '[object RpcStub]';
      return isRemote(name) ? remoteMember(remote, [name], self) : Reflect.get(target, name);
    },
    has: (target, name) => name === DISPOSE || isIn(target, name),
    getPrototypeOf: () => RpcStub.prototype,
  });
  addRpcStub(stub);
  disposals.set(stub, () => isDisposed);
  if (!isDisposed) end = imported.holdInUse(stub);
  return stub;
}
