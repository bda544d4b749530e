// The workers of a host, as the app describes them: which exports are entry points, and which names in `env` lead to
// them. Checked once, when the host is described.
//
// Invariant: a service binding leads to an entry point that exists; otherwise the host does not start.
// No assertion keeps this: bindings are the user's, and a wrong one is a typed error.

import type { BindingParts, EnvBinding } from '../../../src/shared/contract/env-binding.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import { ENTRYPOINT } from '../../../src/shared/contract/rpc-class.ts';
import {
  type ClassRegistry,
  type ClassTableOptions,
  prototypeOf,
  sourceTextOf,
} from '../instance/object-class.ts';
import type { EnvBindings, GivenBindings } from './env-bindings.ts';

/** A class whose instances each answer one event. */
export type EntryClass = new (ctx: never, env: never) => object;

/** An entry point. */
export interface EntryPoint {
  readonly construct: EntryClass;
  /** The source text of the module. */
  readonly text: string;
}

/** The entry point to which a service binding leads. */
export interface ServiceBinding {
  /** The name of a worker. @default the worker itself */
  readonly service?: string;
  /** The name of an export. @default 'default' */
  readonly entrypoint?: string;
  /** `ctx.props` of the entry point. @default an empty object */
  readonly props?: object;
}

/** Maps each name in `env` to the name of a worker, or to the entry point to which the binding leads. */
export type ServiceBindings = Readonly<Record<string, string | ServiceBinding>>;

/** A worker beside that of the objects. */
export interface WorkerOptions {
  /** The exports of the worker's main module. */
  readonly exports: Readonly<Record<string, unknown>>;
  /** The members of `env` that only this worker has. @default none */
  readonly env?: object;
  /** More members of the worker's `env`: names of classes that the host serves. */
  readonly bindings?: Readonly<Record<string, string>>;
  /** More members of the worker's `env`: entry points of workers. */
  readonly services?: ServiceBindings;
}

/** Compatibility flag: services and `ctx.exports` have the methods `scheduled` and `queue`. */
export const EXTRA_HANDLERS = 'service_binding_extra_handlers';

export interface EntryOptions {
  /**
   * Compatibility flags of workerd. Only `service_binding_extra_handlers`, and the flags that decide whether timers are
   * Node's, have an effect.
   */
  readonly compatibilityFlags?: readonly string[];
  readonly bindings?: GivenBindings;
  /** When `scheduled` of the default entry point runs: `cronTriggers(…)` of `ctx-storage/bindings`. */
  readonly crons?: EnvBinding;
  /** More members of `env`: entry points of workers. The worker's own name is `scriptName`. */
  readonly services?: ServiceBindings;
  /** Further workers, by name. They have entry points, and no objects. */
  readonly workers?: Readonly<Record<string, WorkerOptions>>;
}

/** The default name of the worker that serves the objects. */
export const OWN_NAME = 'worker';

/** A worker whose bindings are checked. */
export interface CheckedWorker {
  /** The name of the worker; undefined for the worker that serves the objects. */
  readonly name: string | undefined;
  readonly env: object;
  readonly entries: ReadonlyMap<string, EntryPoint>;
  readonly bindings: ReadonlyMap<string, string>;
  readonly services: ReadonlyMap<string, CheckedService>;
}

export interface CheckedService {
  /** The name of the worker; undefined for the worker that serves the objects. */
  readonly worker: string | undefined;
  readonly entry: string;
  readonly props: object | undefined;
}

type WorkersOptions = Omit<ClassTableOptions, 'bindings'> &
  EntryOptions & { readonly env?: object };

export class Workers {
  readonly main: CheckedWorker;
  readonly given: EnvBindings;
  readonly compatibilityDate: string | undefined;
  /** True if services and exports are `EntryHandle`s. */
  readonly sendsEvents: boolean;
  readonly #others: ReadonlyMap<string, CheckedWorker>;
  readonly #ownName: string;
  readonly #entriesOfBindings: ReadonlyMap<BindingParts, CheckedService>;

  /** `given` is the option `bindings` of the main worker. @throws CLASS_INVALID, UNKNOWN_CLASS */
  constructor(options: WorkersOptions, classes: ClassRegistry, given: EnvBindings) {
    const { exports = {}, env = {}, services = {}, workers = {}, scriptName = OWN_NAME } = options;
    this.given = given;
    this.compatibilityDate = options.compatibilityDate;
    this.sendsEvents = options.compatibilityFlags?.includes(EXTRA_HANDLERS) ?? false;
    this.#ownName = scriptName;
    const entries = new Map(
      Object.entries(workers).map(([name, worker]) => [name, entriesOf(worker.exports)]),
    );
    entries.set(scriptName, entriesOf(exports));
    const check = (named: ServiceBindings = {}, own: string) =>
      new Map(
        Object.entries(named).map(([binding, to]) => [
          binding,
          this.#checkedService(
            `services: ${binding}`,
            typeof to === 'string' ? { service: to } : to,
            own,
            entries,
          ),
        ]),
      );
    this.#entriesOfBindings = new Map(
      given.own.flatMap(([binding, parts]) => {
        if (parts.entry === undefined) return [];
        const entry = this.#checkedService(`binding ${binding}`, parts.entry, scriptName, entries);
        return [[parts, entry]];
      }),
    );
    this.main = {
      name: undefined,
      env,
      entries: entries.get(scriptName)!,
      bindings: classes.bindings,
      services: check(services, scriptName),
    };
    this.#others = new Map(
      Object.entries(workers).map(([name, worker]) => {
        const bindings = Object.entries(worker.bindings ?? {});
        for (const [, className] of bindings) classes.get(className);
        return [
          name,
          {
            name,
            env: worker.env ?? {},
            entries: entries.get(name)!,
            bindings: new Map(bindings),
            services: check(worker.services, name),
          },
        ];
      }),
    );
  }

  /** True if the worker exports nothing but classes. */
  get isEmpty(): boolean {
    const { entries, services } = this.main;
    return entries.size + services.size + this.#others.size === 0 && this.given.isEmpty;
  }

  /** Returns the source texts of all entry points. */
  get texts(): string[] {
    return [this.main, ...this.#others.values()].flatMap(({ name, entries }) =>
      [...entries].map(([entry, { text }]) => `${name ?? ''}\n${entry}\n${text}`),
    );
  }

  /** Returns the worker of this name; undefined if there is none. */
  get(name: string | undefined): CheckedWorker | undefined {
    return name === undefined ? this.main : this.#others.get(name);
  }

  /** Returns the entry point to which the objects of a binding send events. */
  entryOf(parts: BindingParts): CheckedService | undefined {
    return this.#entriesOfBindings.get(parts);
  }

  #checkedService(
    what: string,
    { service, entrypoint = 'default', props }: ServiceBinding,
    own: string,
    entries: ReadonlyMap<string, ReadonlyMap<string, EntryPoint>>,
  ): CheckedService {
    const name = service ?? own;
    const found = entries.get(name);
    if (found === undefined) {
      throw storageError(
        'CLASS_INVALID',
        `${what} names worker "${name}", which is not given; given are: ${list(entries.keys())}.`,
      );
    }
    if (!found.has(entrypoint)) {
      throw storageError(
        'CLASS_INVALID',
        `${what} names entry point "${entrypoint}" of worker "${name}", which has: ` +
          `${list(found.keys())}. Pass the exports of its module: { exports }.`,
      );
    }
    return { worker: name === this.#ownName ? undefined : name, entry: entrypoint, props };
  }
}

export function list(names: Iterable<string>): string {
  return [...names].join(', ') || 'none';
}

function entriesOf(exports: Readonly<Record<string, unknown>>): Map<string, EntryPoint> {
  const entries = new Map<string, EntryPoint>();
  for (const [name, value] of Object.entries(exports)) {
    if (typeof value === 'function') {
      if (prototypeOf(value)?.[ENTRYPOINT] !== 'worker') continue;
      entries.set(name, { construct: value as unknown as EntryClass, text: sourceTextOf(value) });
    } else if (typeof value === 'object' && value !== null) {
      entries.set(name, entryOf(value));
    }
  }
  return entries;
}

/**
 * Makes an entry point of an object that a module exports. Each event gets an instance of a class, which calls the
 * functions of the shared object with one argument, `env` and `ctx`.
 */
function entryOf(handler: object): EntryPoint {
  class Handler {
    readonly ctx: unknown;
    readonly env: unknown;

    constructor(ctx: unknown, env: unknown) {
      this.ctx = ctx;
      this.env = env;
    }
  }
  const functions = functionsOf(handler);
  for (const name of functions.keys()) {
    Object.defineProperty(Handler.prototype, name, {
      value(this: Handler, ...parameters: unknown[]) {
        if (parameters.length !== 1) throw wrongCount(name);
        const given = [parameters[0], this.env, this.ctx];
        return Reflect.apply(Reflect.get(handler, name), handler, given);
      },
    });
  }
  Object.defineProperty(Handler.prototype, ENTRYPOINT, { value: 'worker' });
  return { construct: Handler, text: [...functions.values()].map(sourceTextOf).join('\n') };
}

/** Returns the functions of an object and of its class by name. Getters are not run. */
function functionsOf(handler: object): Map<string, object> {
  const functions = new Map<string, object>();
  for (
    let link: object | null = handler;
    link !== null && link !== Object.prototype;
    link = Object.getPrototypeOf(link)
  ) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(link))) {
      const isNew = name !== 'constructor' && !functions.has(name);
      if (typeof value === 'function' && isNew) functions.set(name, value);
    }
  }
  return functions;
}

/** Makes the error of a handler that is called with a wrong number of arguments, in workerd's words. */
function wrongCount(name: string): Error {
  return new TypeError(
    `Attempted to call RPC function "${name}" with the wrong number of arguments. When calling a ` +
      'top-level handler function that is not declared as part of a class, you must always send exactly ' +
      'one argument. In order to support variable numbers of arguments, the server must use class-based ' +
      'syntax (extending WorkerEntrypoint) instead.',
  );
}
