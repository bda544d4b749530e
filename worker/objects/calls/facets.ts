// The facets of one instance, their parent: objects inside the parent, with storage of their own, that only the parent
// calls. A facet starts with the first call of one of its stubs; the stub's callback describes the facet.
//
// Invariant: a facet keeps its parent in memory and ends with its parent. A start that failed stays failed until the
// parent aborts or deletes the facet. The parent's answers wait for deletions and copies of facets.
// No assertion keeps this: the ends of both are events of two instances, which come in any order.

import { bindToFrame } from '../../../src/shared/calls/io/async-frame.ts';
import { PartyCaller } from '../../../src/shared/calls/membrane/caller.ts';
import { Bond } from '../../../src/shared/calls/stubs/bond.ts';
import { Fetcher, OWN_STUB, setFetch } from '../../../src/shared/calls/stubs/fetcher.ts';
import { setFixed } from '../../../src/shared/calls/stubs/known-stubs.ts';
import { facetClassOf } from '../../../src/shared/calls/stubs/loopback.ts';
import type { Party } from '../../../src/shared/calls/stubs/party.ts';
import { isIn, isRemote } from '../../../src/shared/calls/stubs/remote-name.ts';
import { type Remote, remoteMember } from '../../../src/shared/calls/stubs/rpc-promise.ts';
import type { Callee, ObjectCaller } from '../../../src/shared/calls/stubs/stub.ts';
import { checkArgumentCount, convertString } from '../../../src/shared/contract/arguments.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import { FACET_DEPTH_MAX, FACET_NAME_BYTES_MAX } from '../../../src/shared/contract/limits.ts';
import {
  addressKey,
  DurableObjectId,
  facetAddress,
  type ObjectAddress,
} from '../../../src/shared/contract/object-id.ts';
import { utf8Bytes } from '../../../src/shared/contract/utf8.ts';
import { refuseToClone } from '../../../src/shared/values/object-kind.ts';
import type { ObjectHost } from '../host/object-host.ts';
import type { FacetStartup } from '../instance/object-class.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';
import { facetEnded } from '../instance/reset-reasons.ts';
import { CallerError, type ObjectCalls, type Receiver } from './object-calls.ts';

/** A facet that a call has started, until it ends. */
interface Started {
  readonly startup: Promise<FacetStartup>;
  instance: ObjectInstance | undefined;
  /** The reason why the facet has ended; undefined while it runs. */
  ended: { readonly reason: unknown } | undefined;
  /** Called when the parent need not stay in memory for the facet any more. */
  release(): void;
}

/** The calls that reach a facet until the parent ends it, including calls that have not arrived yet. */
interface Era {
  /** The reason with which the parent has ended this facet; undefined while it runs. */
  ended: { readonly reason: unknown } | undefined;
}

/** The result of the callback that describes the facet. */
type Start = () => unknown;

export class DurableObjectFacets {
  readonly #parent: ObjectInstance;
  readonly #party: Party;
  readonly #host: ObjectHost;
  readonly #calls: ObjectCalls;
  /** The started facets, by the key of their address. */
  readonly #started = new Map<string, Started>();
  /**
   * The eras of the facets that have been called, by key. A call belongs to the era in which it was made, because it
   * arrives some turns later.
   */
  readonly #eras = new Map<string, Era>();

  constructor(parent: ObjectInstance, party: Party, host: ObjectHost, calls: ObjectCalls) {
    if (parent === undefined) {
      throw storageError('ILLEGAL_INVOCATION', 'Illegal constructor: use ctx.facets.');
    }
    this.#parent = parent;
    this.#party = party;
    this.#host = host;
    this.#calls = calls;
  }

  /** Returns a stub of the facet. The first call of the stub runs `start`, which tells the class of the facet. */
  get(...parameters: [name: unknown, start: unknown]): object {
    checkArgumentCount('facets.get', parameters.length, 2);
    const address = this.#address('facets.get', parameters[0]);
    const start = parameters[1];
    if (typeof start !== 'function') {
      throw storageError(
        'INVALID_ARGUMENT',
        'facets.get: the second argument must be a function that returns { class }.',
      );
    }
    const bound = bindToFrame(() => start() as unknown);
    const callee = { address: NOWHERE, bond: new Bond() };
    let first: Era | undefined;
    return createFacetStub(callee, () => {
      // The callback is part of the code that calls `get`, and of the critical section of that code.
      const enter = this.#parent.context.entrance();
      const era = this.#era(address);
      first ??= era;
      const receiver = this.#receiver(address, () => enter(bound), [first, era]);
      return new PartyCaller(this.#party, (call) => this.#calls.carryTo(() => receiver, call));
    });
  }

  /** Resets the facet: its stubs reject with the reason, and `get` returns a stub that starts it again. */
  abort(...parameters: [name: unknown, reason: unknown]): void {
    checkArgumentCount('facets.abort', parameters.length, 2);
    const address = this.#address('facets.abort', parameters[0]);
    const reason = parameters[1];
    if (this.#end(address, reason)) this.#host.abortFacet(address, reason);
  }

  /** Resets the facet, and removes everything that it and its own facets have stored. */
  delete(...parameters: [name: unknown]): void {
    checkArgumentCount('facets.delete', parameters.length, 1);
    const address = this.#address('facets.delete', parameters[0]);
    const reason = facetEnded('Facet was deleted.');
    this.#end(address, reason);
    this.#parent.confirm(this.#host.deleteFacet(address, reason));
  }

  /** Resets the facet `to`, and gives it a copy of the data of `from` and of the facets of `from`. */
  clone(...parameters: [from: unknown, to: unknown]): void {
    checkArgumentCount('facets.clone', parameters.length, 2);
    const from = this.#address('facets.clone', parameters[0]);
    const to = this.#address('facets.clone', parameters[1]);
    const reason = facetEnded('Facet was cloned-over.');
    this.#end(to, reason);
    this.#parent.confirm(this.#host.copyFacet(from, to, reason));
  }

  get [Symbol.toStringTag](): string {
    return 'DurableObjectFacets';
  }

  #era(address: ObjectAddress): Era {
    const key = addressKey(address);
    const era = this.#eras.get(key) ?? { ended: undefined };
    this.#eras.set(key, era);
    return era;
  }

  #receiver(address: ObjectAddress, start: Start, eras: readonly Era[]): Receiver {
    return {
      address,
      deliver: async (event, author) => {
        // The parent ended the facet after the call, or the first call of its stub, was made.
        const ended = eras.find((era) => era.ended !== undefined)?.ended;
        if (ended !== undefined) throw new CallerError(ended.reason);
        let instance = await this.#instance(address, start);
        // The facet was evicted while the call waited, so the call starts it again.
        while (instance.context.wasClosed && !this.#parent.hasEnded) {
          instance = await this.#instance(address, start);
        }
        return instance.deliver(() => event(instance), null, author);
      },
    };
  }

  async #instance(address: ObjectAddress, start: Start): Promise<ObjectInstance> {
    checkDepth(address);
    const key = addressKey(address);
    const started = this.#started.get(key) ?? this.#start(key, start);
    const startup = await started.startup.catch((error: unknown) => {
      throw started.ended === undefined ? new CallerError(error) : started.ended.reason;
    });
    if (started.ended !== undefined) throw started.ended.reason;
    let instance: ObjectInstance;
    try {
      instance = await this.#host.facet(address, startup);
    } catch (error) {
      this.#over(key, started);
      throw error;
    }
    // A facet may also end without its parent: by eviction, or by a reset.
    if (started.instance === undefined) instance.context.onEnd(() => this.#over(key, started));
    started.instance = instance;
    if (this.#parent.hasEnded) this.#host.closeFacet(instance);
    return instance;
  }

  #start(key: string, start: Start): Started {
    const startup = this.#startup(start);
    const release = this.#parent.context.retain((reason) => {
      started.ended ??= { reason };
      if (started.instance !== undefined) this.#host.closeFacet(started.instance);
    });
    const started: Started = { startup, instance: undefined, ended: undefined, release };
    startup.catch(release);
    this.#started.set(key, started);
    return started;
  }

  async #startup(start: Start): Promise<FacetStartup> {
    const given = await start();
    // An object with facets exists, even if it stores nothing itself.
    this.#parent.storage.write();
    const options = typeof given === 'object' && given !== null ? given : {};
    const { class: chosen, id = this.#parent.id } = options as { class?: unknown; id?: unknown };
    const found = facetClassOf(chosen);
    if (found === undefined) {
      throw storageError(
        'INVALID_ARGUMENT',
        "facets.get: Incorrect type for the 'class' field: the callback returns { class }, with a " +
          'class of ctx.exports, or the result of calling one with { props }.',
      );
    }
    return {
      class: this.#host.classes.ofFacet(found.className),
      id: id instanceof DurableObjectId ? id : convertString('facets.get', id),
      props: found.props,
    };
  }

  /** Ends the facet with a reason. Returns false if no call has started the facet. */
  #end(address: ObjectAddress, reason: unknown): boolean {
    const key = addressKey(address);
    const era = this.#eras.get(key);
    if (era !== undefined) era.ended = { reason };
    this.#eras.delete(key);
    const started = this.#started.get(key);
    if (started === undefined) return false;
    started.ended ??= { reason };
    this.#over(key, started);
    return true;
  }

  #over(key: string, started: Started): void {
    if (this.#started.get(key) === started) this.#started.delete(key);
    started.release();
  }

  #address(operation: string, given: unknown): ObjectAddress {
    const name = convertString(operation, given);
    if (this.#parent.address.branch !== undefined) {
      throw storageError('BRANCH_ISOLATED', `${operation}: a branch has no facets of its object.`);
    }
    const sizeBytes = utf8Bytes(name);
    if (sizeBytes > FACET_NAME_BYTES_MAX) {
      throw storageError(
        'INVALID_ARGUMENT',
        `Facet name is too long (max ${FACET_NAME_BYTES_MAX} characters). It has ${sizeBytes} bytes ` +
          'of UTF-8.',
      );
    }
    return facetAddress(this.#parent.address, name);
  }
}

function checkDepth({ facet = [] }: ObjectAddress): void {
  if (facet.length < FACET_DEPTH_MAX) return;
  throw storageError(
    'FACET_NESTING',
    'Facet nesting depth limit exceeded. The maximum depth including the root Durable Object is ' +
      `${FACET_DEPTH_MAX}.`,
  );
}

/** The stub of a facet is called through its parent, not by an address. */
const NOWHERE = { className: null, id: '' };

refuseToClone(DurableObjectFacets);

/**
 * Makes the stub of a facet for the object that the facet belongs to: every member but `fetch` is a member of the
 * facet.
 *
 * The stub is valid as long as the instance that made it, so it cannot be stored or sent. `callerNow` carries one call
 * of the code that is running.
 */
export function createFacetStub(callee: Callee, callerNow: () => ObjectCaller): object {
  const remote: Remote = {
    get: (path) => callerNow().get(callee, path),
    call: (path, parameters) => callerNow().call(callee, path, parameters),
  };
  const stub = new Proxy(new Fetcher(OWN_STUB), {
    has: (target, name) => isIn(target, name),
    get(target, name) {
      if (name in target || !isRemote(name)) return Reflect.get(target, name);
      return remoteMember(remote, [name]);
    },
  });
  setFetch(stub, (...request) => callerNow().fetch(callee, ...request));
  setFixed(stub, 'Stubs pointing to Durable Object facets are not serializable.');
  return stub;
}
