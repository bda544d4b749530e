// The facets of one instance, its parent: objects inside it, with storage of their own, that it alone
// calls. A facet starts with the first call of one of its stubs, as the stub's callback says.
//
// Invariant: a facet keeps its parent in memory and ends with it. A start that failed stays failed until
// the parent aborts or deletes the facet. What the parent answers waits for deletions and copies.

import { checkArgumentCount, convertString } from '../../src/contract/arguments.ts';
import { storageError } from '../../src/contract/errors.ts';
import { FACET_DEPTH_MAX, FACET_NAME_BYTES_MAX } from '../../src/contract/limits.ts';
import {
  addressKey,
  DurableObjectId,
  facetAddress,
  type ObjectAddress,
} from '../../src/contract/object-id.ts';
import { utf8Bytes } from '../../src/contract/utf8.ts';
import { bindToFrame } from '../../src/io/async-frame.ts';
import { PartyCaller } from '../../src/membrane/caller.ts';
import { refuseToClone } from '../../src/serializer/object-kind.ts';
import { Bond } from '../../src/stubs/bond.ts';
import { facetClassOf } from '../../src/stubs/loopback.ts';
import type { Party } from '../../src/stubs/party.ts';
import type { ObjectHost } from '../host/object-host.ts';
import type { FacetStartup } from '../instance/facet-startup.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';
import { facetEnded } from '../instance/reset-reasons.ts';
import { createFacetStub } from './facet-stub.ts';
import { CallerError, type ObjectCalls, type Receiver } from './object-calls.ts';

/** A facet that a call has started, until it ends. */
interface Started {
  readonly startup: Promise<FacetStartup>;
  instance: ObjectInstance | undefined;
  /** Why it has ended. */
  ended: { readonly reason: unknown } | undefined;
  /** The parent need not stay in memory for it any more. */
  release(): void;
}

/** What a call gives to start the facet. */
type Start = () => unknown;

export class DurableObjectFacets {
  readonly #parent: ObjectInstance;
  readonly #party: Party;
  readonly #host: ObjectHost;
  readonly #calls: ObjectCalls;
  /** By key of the facet's address. */
  readonly #started = new Map<string, Started>();

  constructor(parent: ObjectInstance, party: Party, host: ObjectHost, calls: ObjectCalls) {
    if (parent === undefined) {
      throw storageError('ILLEGAL_INVOCATION', 'Illegal constructor: use ctx.facets.');
    }
    this.#parent = parent;
    this.#party = party;
    this.#host = host;
    this.#calls = calls;
  }

  /** A stub of the facet; `start` says of which class it is, once it is called. */
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
    return createFacetStub(callee, () => {
      // The callback is part of the code that calls, and of its critical section.
      const enter = this.#parent.context.entrance();
      const receiver = this.#receiver(address, () => enter(bound));
      return new PartyCaller(this.#party, (call) => this.#calls.carryTo(() => receiver, call));
    });
  }

  /** Resets the facet: its stubs reject with the reason, and `get` gives one that starts it again. */
  abort(...parameters: [name: unknown, reason: unknown]): void {
    checkArgumentCount('facets.abort', parameters.length, 2);
    const address = this.#address('facets.abort', parameters[0]);
    const reason = parameters[1];
    if (this.#end(address, reason)) this.#host.abortFacet(address, reason);
  }

  /** Resets the facet, and removes all it has stored, with its own facets. */
  delete(...parameters: [name: unknown]): void {
    checkArgumentCount('facets.delete', parameters.length, 1);
    const address = this.#address('facets.delete', parameters[0]);
    const reason = facetEnded('Facet was deleted.');
    this.#end(address, reason);
    this.#parent.confirm(this.#host.deleteFacet(address, reason));
  }

  /** Resets the facet `to`, which gets a copy of what `from` and its own facets have stored. */
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

  #receiver(address: ObjectAddress, start: Start): Receiver {
    return {
      address,
      deliver: async (event) => {
        const instance = await this.#instance(address, start);
        return instance.deliver(() => event(instance));
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
    // It ends by itself, too: by eviction, or by a reset of its own.
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
          'class of ctx.exports, or what calling one with { props } gives.',
      );
    }
    return {
      class: this.#host.classes.ofFacet(found.className),
      id: id instanceof DurableObjectId ? id : convertString('facets.get', id),
      props: found.props,
    };
  }

  /** Forgets the facet, for a reason. False if no call has started it. */
  #end(address: ObjectAddress, reason: unknown): boolean {
    const key = addressKey(address);
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
