// The entry points of a host: code beside the objects. Each event has an I/O context of its own, in which its class is
// constructed, so events of one entry point run side by side and have nothing in common but the module.
//
// Invariant: a context ends when its event was answered and no work that it waits for continues: `waitUntil`, an open
// socket or stream, a function or target that somebody else holds. A timer does not count, as on workerd.
// No assertion keeps this: it would compare the count that ends the context with the same count.

import { runOutside } from '../../../src/shared/calls/io/current-context.ts';
import type { IoHost } from '../../../src/shared/calls/io/io-context.ts';
import { loopbackService } from '../../../src/shared/calls/stubs/loopback-service.ts';
import { entryHandle, serviceStub } from '../../../src/shared/calls/stubs/service-stub.ts';
import type { ObjectCaller } from '../../../src/shared/calls/stubs/stub.ts';
import { type StorageError, storageError } from '../../../src/shared/contract/errors.ts';
import type { EntryHandle } from '../../../src/shared/contract/service.ts';
import type { EntryAddress } from '../../../src/shared/wire/address.ts';
import type { Annotation } from '../../engine/log/annotation.ts';
import type { Entries, EntryParts } from '../calls/namespaces.ts';
import type { Receiver, Recipient } from '../calls/object-calls.ts';
import type { HostEnvironment } from '../instance/environment.ts';
import { InstanceContext } from '../instance/instance-context.ts';
import { Invocation } from './invocation.ts';
import { type CheckedWorker, type EntryPoint, list, type Workers } from './workers.ts';

/** Turns of the host, which begin outside of every context. */
type Time = Pick<HostEnvironment, 'nextTurn' | 'beforeNextTurn' | 'elapsed'>;

/** The parts of a host that entry points use. */
export type EntryPointsParts = [parts: EntryParts, time: Time, io: IoHost];

/** `env` and `ctx.exports` of one worker, the same for all of its events. */
interface Scope {
  readonly env: object;
  readonly exports: object;
}

export class EntryPoints implements Entries {
  readonly #workers: Workers;
  readonly #parts: EntryParts;
  readonly #time: Time;
  readonly #io: IoHost;
  readonly #scopes = new Map<string | undefined, Scope>();
  readonly #contexts = new Set<InstanceContext>();
  #closed: StorageError | undefined;

  constructor(workers: Workers, ...[parts, time, io]: EntryPointsParts) {
    const { nextTurn, beforeNextTurn = nextTurn, elapsed } = time;
    this.#workers = workers;
    this.#parts = parts;
    this.#time = { nextTurn: (task) => nextTurn(() => runOutside(task)), beforeNextTurn, elapsed };
    this.#io = io;
  }

  get isQuiet(): boolean {
    return [...this.#contexts].every(({ eventCount }) => eventCount === 0);
  }

  get isIdle(): boolean {
    return this.#contexts.size === 0;
  }

  bind(env: Record<string, unknown>, caller: ObjectCaller): void {
    const { given, main } = this.#workers;
    given.bind(env, (className) => this.#parts.namespace(className, caller));
    this.#bindServices(env, main, caller);
  }

  ownEnv(className: string, caller: ObjectCaller): object | undefined {
    return this.#workers.given.inside(
      className,
      () => this.#parts.namespace(className, caller),
      (parts) => {
        const to = this.#workers.entryOf(parts);
        return to && (entryHandle(entryAddress(to.worker, to.entry), caller) as EntryHandle);
      },
    );
  }

  async start(): Promise<void> {
    const { ambient, namespace } = this.#parts;
    await this.#workers.given.start((className) => namespace(className, ambient));
  }

  bindExports(exports: Record<string, object>, caller: ObjectCaller): void {
    this.#bindEntries(exports, this.#workers.main, caller);
  }

  receiver({ entry, worker: name, props }: EntryAddress): Receiver {
    const worker = this.#workers.get(name);
    const found = worker?.entries.get(entry);
    if (worker === undefined || found === undefined) {
      throw storageError(
        'UNKNOWN_CLASS',
        `The worker has no entry point "${entry}"; it has: ${list(worker?.entries.keys() ?? [])}. Export it, and ` +
          'pass the exports of the module that serves: { exports }.',
      );
    }
    return { deliver: (event, by) => this.#deliver(worker, entry, found, props, event, by) };
  }

  close(reason: StorageError): void {
    this.#closed = reason;
    for (const context of this.#contexts) context.end(reason);
    this.#contexts.clear();
  }

  async #deliver<T>(
    worker: CheckedWorker,
    name: string,
    entry: EntryPoint,
    props: EntryAddress['props'],
    event: (recipient: Recipient) => T | PromiseLike<T>,
    author?: Annotation,
  ): Promise<T> {
    if (this.#closed !== undefined) throw this.#closed;
    const { env, exports } = this.#scopeOf(worker);
    const context = this.#begin();
    return context.deliver(
      () => {
        const given = props === undefined ? {} : this.#parts.readProps(props, context);
        return event(
          new Invocation(name, entry.construct, context, { env, exports, props: given }),
        );
      },
      null,
      author,
    );
  }

  #begin(): InstanceContext {
    const { nextTurn } = this.#time;
    const context = new InstanceContext({
      ...this.#time,
      host: this.#io,
      sends: true,
      endsWithEvent: true,
      compatibilityDate: this.#workers.compatibilityDate,
      confirmation: () => undefined,
      // End the idle context in another turn, because the answer of the event may still hold it.
      idleMs: 0,
      after: (_delayMs, task) => {
        let isDue = true;
        nextTurn(() => {
          if (isDue) task();
        });
        return () => {
          isDue = false;
        };
      },
      onEvict: () => {
        this.#contexts.delete(context);
        context.end(storageError('CONNECTION_CLOSED', 'The event has ended.'));
      },
    });
    this.#contexts.add(context);
    return context;
  }

  #scopeOf(worker: CheckedWorker): Scope {
    let scope = this.#scopes.get(worker.name);
    if (scope === undefined) {
      scope = this.#makeScope(worker);
      this.#scopes.set(worker.name, scope);
    }
    return scope;
  }

  #makeScope(worker: CheckedWorker): Scope {
    const { ambient, namespace } = this.#parts;
    if (worker.name === undefined) {
      return { env: this.#parts.env(), exports: this.#parts.exports() };
    }
    const env: Record<string, unknown> = { ...worker.env };
    for (const [name, className] of worker.bindings) env[name] = namespace(className, ambient);
    this.#bindServices(env, worker, ambient);
    const exports: Record<string, object> = {};
    this.#bindEntries(exports, worker, ambient);
    return { env, exports };
  }

  #bindServices(env: Record<string, unknown>, worker: CheckedWorker, caller: ObjectCaller): void {
    for (const [binding, { worker: name, entry, props }] of worker.services) {
      const written = props && this.#parts.writeProps(props);
      const address = entryAddress(name, entry, written);
      env[binding] = serviceStub(address, caller, this.#workers.sendsEvents);
    }
  }

  #bindEntries(
    exports: Record<string, object>,
    { name, entries }: CheckedWorker,
    caller: ObjectCaller,
  ): void {
    for (const entry of entries.keys()) {
      const { sendsEvents } = this.#workers;
      const { writeProps } = this.#parts;
      exports[entry] = loopbackService(entryAddress(name, entry), caller, writeProps, sendsEvents);
    }
  }
}

/** Returns the address of an entry point. `worker` is undefined for the worker that serves the objects. */
export function entryAddress(
  worker: string | undefined,
  entry = 'default',
  props?: EntryAddress['props'],
): EntryAddress {
  return { entry, ...(worker !== undefined && { worker }), ...(props && { props }) };
}
