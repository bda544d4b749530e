// The namespaces and entry points for code in the worker: one `env` and one `ctx.exports` for all code, as on workerd.
// In a browser, which does not follow code across each await, each object has an `env` and a `ctx.exports` of its own.
// A stub belongs to the object whose code uses it: calls of the stub wait until that object's writes are durable, and
// answers arrive through the input gate of that object.

import { isTaskExact } from '../../../src/shared/calls/io/current-context.ts';
import { type Carry, PartyCaller } from '../../../src/shared/calls/membrane/caller.ts';
import { discardDraft } from '../../../src/shared/calls/membrane/channel.ts';
import { pairOfReferences } from '../../../src/shared/calls/membrane/references.ts';
import type { AskFollowed } from '../../../src/shared/calls/stubs/followed-calls.ts';
import {
  loopbackClass,
  loopbackNamespace,
  type WriteProps,
} from '../../../src/shared/calls/stubs/loopback.ts';
import { DurableObjectNamespace } from '../../../src/shared/calls/stubs/namespace.ts';
import { Party, type PartyIo } from '../../../src/shared/calls/stubs/party.ts';
import { currentCaller, type ObjectCaller } from '../../../src/shared/calls/stubs/stub.ts';
import { type StorageError, storageError } from '../../../src/shared/contract/errors.ts';
import { liveCalls } from '../../../src/shared/live/live-identity.ts';
import type { LivePeers } from '../../../src/shared/live/polled-source.ts';
import { dataCloneError } from '../../../src/shared/values/object-kind.ts';
import type { Payload } from '../../../src/shared/wire/address.ts';
import type { LivePeer } from '../../../src/shared/wire/protocol.ts';
import type { ObjectHost } from '../host/object-host.ts';
import type { ObjectManager } from '../host/object-manager.ts';
import type { InstanceBindings } from '../instance/durable-object-state.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';
import { DurableObjectFacets } from './facets.ts';
import { LiveCalls } from './live-calls.ts';
import { type EntryReceivers, ObjectCalls } from './object-calls.ts';

/** The functions of the objects' side that entry points use. */
export interface EntryParts {
  /** Makes calls for whichever code is running. */
  readonly ambient: ObjectCaller;
  /** The namespace of a class, for the code of this caller. @throws UNKNOWN_CLASS */
  namespace(className: string, caller: ObjectCaller): object;
  /** `env` of the worker that serves the objects, for whichever code is running. */
  env(): object;
  /** Returns `ctx.exports` of the worker that serves the objects, for whichever code is running. */
  exports(): object;
  /** Writes the props of an entry point as data. @throws DataCloneError */
  readonly writeProps: WriteProps;
  /** Reads props for the code of this context. */
  readProps(props: Payload, context: PartyIo): object;
}

/** The entry points of a host, and the members of `env` that only their worker has. */
export interface Entries extends EntryReceivers {
  /** Adds the members of `env` that are more than values and namespaces. */
  bind(env: Record<string, unknown>, caller: ObjectCaller): void;
  /** Adds the entry points. */
  bindExports(exports: Record<string, object>, caller: ObjectCaller): void;
  /** Returns the `env` of the objects of a binding's class; undefined if the class is the app's. */
  ownEnv(className: string, caller: ObjectCaller): object | undefined;
  /** Starts the bindings. @throws the error of a binding that does not start */
  start(): Promise<void>;
  /** False while an event runs. */
  readonly isQuiet: boolean;
  /** False while an event goes on, or anything that the event waits for. */
  readonly isIdle: boolean;
  /** Closes the entry points: events that still run reject with the reason, and no other event begins. */
  close(reason: StorageError): void;
}

export type MakeEntries = (parts: EntryParts) => Entries;

/** A party, and the caller for its code. */
interface Resident {
  readonly party: Party;
  readonly caller: ObjectCaller;
}

export class Namespaces {
  readonly calls: ObjectCalls;
  readonly live: LiveCalls;
  /** `env` of objects, events and modules: its stubs belong to the object that is running when they are used. */
  env: Record<string, unknown>;
  /** `ctx.exports` of objects and events, and `exports` of modules. */
  readonly exports: object;
  readonly #host: ObjectHost;
  /** Values that the app passes to all objects. */
  readonly #env: object;
  readonly #entries: Entries | undefined;
  readonly #residents = new WeakMap<PartyIo, Resident>();
  readonly #worker: Resident;
  /** Sends and reads props. Props contain no references that would have to be released. */
  readonly #local = pairOfReferences()[0];
  readonly #after: LivePeers['after'];
  readonly #liveOutside = new Set<() => void>();
  #end: Error | undefined;

  /** `manager` lists and deletes objects, and drives the clock, for pages. `after` waits by the system's clock. */
  constructor(
    host: ObjectHost,
    env: object,
    manager?: ObjectManager,
    after: LivePeers['after'] = host.io.after,
    makeEntries?: MakeEntries,
  ) {
    this.#host = host;
    this.#env = env;
    this.#after = after;
    this.live = new LiveCalls(host);
    this.#worker = this.#reside(host.outside, liveCalls(this.#livePeers()), this.#follow);
    const partyOf = (context: PartyIo) => this.#residentOf(context).party;
    this.#entries = makeEntries?.({
      ambient: this.ambient,
      namespace: (className, caller) => this.#namespace(className, caller),
      env: () => this.env,
      exports: () => this.exports,
      writeProps: this.#writeProps,
      readProps: (props, context) => this.#local.receive(props, partyOf(context)) as object,
    });
    this.calls = new ObjectCalls(host, partyOf, manager, this.#entries);
    this.env = this.#envOf(this.ambient);
    this.exports = this.#exportsOf(this.ambient);
  }

  /** False while an event of an entry point runs. */
  get isQuiet(): boolean {
    return this.#entries?.isQuiet ?? true;
  }

  /** False while an event of an entry point goes on, or anything that it waits for, such as `waitUntil`. */
  get isIdle(): boolean {
    return this.#entries?.isIdle ?? true;
  }

  /** Called when the host has started. @throws the error of a binding that does not start */
  async start(): Promise<void> {
    await this.#entries?.start();
  }

  /** Called when the host is closed: ends the entry points, and the live reads of the code beside the objects. */
  close(): void {
    const end = storageError('CONNECTION_CLOSED', 'The host of the objects was closed.');
    this.#end = end;
    this.#entries?.close(end);
    for (const told of [...this.#liveOutside]) told();
  }

  /** Returns `env`, and the objects that `ctx` shows to an instance. */
  bindings(instance: ObjectInstance): InstanceBindings {
    const { party, caller } = this.#residentOf(instance.context);
    const props = instance.startup?.props ?? null;
    return {
      env: this.#entries?.ownEnv(instance.address.className ?? '', caller) ?? this.#envFor(caller),
      exports: isTaskExact ? this.exports : this.#exportsOf(caller),
      facets: new DurableObjectFacets(instance, party, this.#host, this.calls),
      props: props === null ? {} : (this.#local.receive(props, party) as object),
    };
  }

  /** The caller in whose name code beside the objects makes calls. */
  get outsideCaller(): ObjectCaller {
    return this.#worker.caller;
  }

  /** `env` for code that runs beside the objects and never belongs to one. */
  get outsideEnv(): object {
    return this.#envOf(this.#worker.caller);
  }

  /** Calls objects on behalf of the object that is running. */
  readonly ambient: ObjectCaller = currentCaller(() => this.#current);

  get #current(): ObjectCaller {
    const context = this.#host.currentContext;
    return context === undefined ? this.#worker.caller : this.#residentOf(context).caller;
  }

  // Props hold values and stubs of objects: a value passed by reference would end with one instance.
  readonly #writeProps: WriteProps = (props) => {
    const draft = this.#local.draft(props, this.#worker.party);
    if (draft.exports.size === 0) return draft.payload;
    discardDraft(draft);
    throw dataCloneError(props, 'contain a function, target, stream or socket: props are copied.');
  };

  #residentOf(context: PartyIo): Resident {
    let resident = this.#residents.get(context);
    if (resident === undefined) {
      resident = this.#reside(context);
      this.#residents.set(context, resident);
    }
    return resident;
  }

  #reside(io: PartyIo, live?: ObjectCaller['live'], follow?: ObjectCaller['follow']): Resident {
    const party: Party = new Party(io, () => caller);
    const carry: Carry = async (call) => {
      if (call.mayWrite) io.checkSends?.('A call of another object');
      return this.calls.carry(call);
    };
    const caller = new PartyCaller(party, carry, live, follow);
    return { party, caller };
  }

  readonly #follow: AskFollowed = (address, ask) =>
    this.#host.outside.receive(() => this.calls.ask(address, ask)) as never;

  // Live reads for code that belongs to no object: their results arrive outside of all objects.
  #livePeers(): LivePeers {
    const { outside } = this.#host;
    const connection = this.live.connect();
    const peer: LivePeer = {
      openLive: (start) => outside.receive(() => connection.openLive(start)),
      nextLive: (number) => outside.receive(() => connection.nextLive(number)),
      closeLive: (number) => connection.closeLive(number),
    };
    const end = () => this.#end;
    return {
      peer: async () => peer,
      get end() {
        return end();
      },
      whenEnded: (told) => {
        this.#liveOutside.add(told);
        return () => this.#liveOutside.delete(told);
      },
      after: this.#after,
    };
  }

  /**
   * Returns the `env` for the code of a caller. If the platform does not follow code across each await, an object has
   * an `env` of its own, whose stubs wait for the object's writes all the same.
   */
  #envFor(caller: ObjectCaller): object {
    return isTaskExact ? this.env : this.#envOf(caller);
  }

  #envOf(caller: ObjectCaller): Record<string, unknown> {
    const env: Record<string, unknown> = { ...this.#env };
    for (const [binding, className] of this.#host.classes.bindings) {
      env[binding] = this.#namespace(className, caller);
    }
    this.#entries?.bind(env, caller);
    return env;
  }

  #exportsOf(caller: ObjectCaller): object {
    const { all, facetClasses } = this.#host.classes;
    const exports: Record<string, object> = {};
    this.#entries?.bindExports(exports, caller);
    for (const { name, ids, isHidden } of all) {
      if (isHidden) continue;
      exports[name] = loopbackNamespace({ className: name, ids, caller }, this.#writeProps);
    }
    for (const name of facetClasses.keys()) exports[name] = loopbackClass(name, this.#writeProps);
    return exports;
  }

  #namespace(className: string, caller: ObjectCaller): DurableObjectNamespace {
    const { ids } = this.#host.classes.get(className);
    const follows = this.#host.followers.classNames.has(className);
    return new DurableObjectNamespace({ className, ids, caller, follows });
  }
}
