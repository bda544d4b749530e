// The namespaces for code in the worker: `env` and `ctx.exports` of each object, and `env` of the worker
// itself. A stub belongs to the object whose `env` it came from: its calls wait until that object's
// writes are durable, and answers arrive through its input gate.

import { PartyCaller } from '../../src/membrane/caller.ts';
import { DurableObjectNamespace } from '../../src/stubs/namespace.ts';
import { Party, type PartyIo } from '../../src/stubs/party.ts';
import type { ObjectCaller } from '../../src/stubs/stub.ts';
import type { ObjectHost } from '../host/object-host.ts';
import type { ObjectManager } from '../host/object-manager.ts';
import type { InstanceBindings } from '../instance/user-object.ts';
import { ObjectCalls } from './object-calls.ts';

/** A party, and the caller for its code. */
interface Resident {
  readonly party: Party;
  readonly caller: ObjectCaller;
}

export class Namespaces {
  readonly calls: ObjectCalls;
  readonly #host: ObjectHost;
  /** Values that the app passes to all objects. */
  readonly #env: object;
  readonly #residents = new WeakMap<PartyIo, Resident>();
  readonly #worker: Resident;

  /** `manager`: lists and deletes objects, and drives the clock, for pages. */
  constructor(host: ObjectHost, env: object, manager?: ObjectManager) {
    this.#host = host;
    this.#env = env;
    this.calls = new ObjectCalls(host, ({ context }) => this.#residentOf(context).party, manager);
    this.#worker = this.#reside(host.outside);
  }

  /** `env` and `exports` for an instance. */
  bindings(context: PartyIo): InstanceBindings {
    const { caller } = this.#residentOf(context);
    return { env: this.#envOf(caller), exports: this.#exportsOf(caller) };
  }

  /** `env` for code that runs beside the objects and never belongs to one. */
  get outsideEnv(): object {
    return this.#envOf(this.#worker.caller);
  }

  /** `env` of modules: its stubs belong to the object that is running when they are used. */
  get ambientEnv(): object {
    return this.#envOf(this.ambient);
  }

  /** `exports` of modules. */
  get ambientExports(): object {
    return this.#exportsOf(this.ambient);
  }

  /** Calls objects on behalf of the object that is running. */
  readonly ambient: ObjectCaller = {
    call: (...call) => this.#current.call(...call),
    get: (...get) => this.#current.get(...get),
    fetch: (...fetch) => this.#current.fetch(...fetch),
  };

  get #current(): ObjectCaller {
    const context = this.#host.currentContext;
    return context === undefined ? this.#worker.caller : this.#residentOf(context).caller;
  }

  #residentOf(context: PartyIo): Resident {
    let resident = this.#residents.get(context);
    if (resident === undefined) {
      resident = this.#reside(context);
      this.#residents.set(context, resident);
    }
    return resident;
  }

  #reside(io: PartyIo): Resident {
    const party: Party = new Party(io, () => caller);
    const caller = new PartyCaller(party, this.calls.carry);
    return { party, caller };
  }

  #envOf(caller: ObjectCaller): object {
    const env: Record<string, unknown> = { ...this.#env };
    for (const [binding, className] of this.#host.classes.bindings) {
      env[binding] = this.#namespace(className, caller);
    }
    return env;
  }

  #exportsOf(caller: ObjectCaller): object {
    const names = [...this.#host.classes.all].map(({ name }) => name);
    return Object.fromEntries(names.map((name) => [name, this.#namespace(name, caller)]));
  }

  #namespace(className: string, caller: ObjectCaller): DurableObjectNamespace {
    const { ids } = this.#host.classes.get(className);
    return new DurableObjectNamespace({ className, ids, caller });
  }
}
