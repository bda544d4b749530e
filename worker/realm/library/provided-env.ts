// `env` before a host runs: its content while modules are evaluated.
//
// Invariant: the provided `env` is the default of every host that starts later. An id made by a
// provided namespace is an id of the host's class; otherwise the host does not start.

import { addressOf } from '../../../src/shared/calls/stubs/known-stubs.ts';
import { DurableObjectNamespace } from '../../../src/shared/calls/stubs/namespace.ts';
import { serviceStub } from '../../../src/shared/calls/stubs/service-stub.ts';
import { currentCaller, type ObjectCaller } from '../../../src/shared/calls/stubs/stub.ts';
import { bindingParts } from '../../../src/shared/contract/env-binding.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import { ObjectIdFactory } from '../../../src/shared/contract/object-id.ts';
import type { EntryAddress } from '../../../src/shared/wire/address.ts';
import {
  EntryPoints,
  type EntryPointsParts,
  entryAddress,
} from '../../objects/entries/entry-points.ts';
import { EnvBindings, type GivenBindings } from '../../objects/entries/env-bindings.ts';
import {
  EXTRA_HANDLERS,
  OWN_NAME,
  type ServiceBinding,
  Workers,
} from '../../objects/entries/workers.ts';
import type { StartFollowing } from '../../objects/host/object-host.ts';
import {
  ClassRegistry,
  type ClassTable,
  uniqueKeyOf,
} from '../../objects/instance/object-class.ts';
import { type AppOptions, type EnvNames, provide, provided, takeMissed } from './provided.ts';
import { runningHostBindings } from './running-hosts.ts';

export type { EnvNames } from './provided.ts';

/** `env` of a running host, and how it gives it up. */
export interface HostEnv {
  readonly env: Record<string, unknown>;
  readonly leave: () => void;
}

/** The code of a host: the classes, the entry points and the `env` of one script. */
export interface App {
  readonly classes: ClassRegistry;
  /** The app's own `env`. */
  readonly env: object;
  readonly compatibilityFlags?: readonly string[];
  readonly entryTexts?: readonly string[];
  readonly entryPoints?: (...parts: EntryPointsParts) => EntryPoints;
  /** The whole `env`, from its members as the host has made them. */
  readonly share?: (made: Record<string, unknown>) => HostEnv;
  readonly follow?: StartFollowing;
}

/**
 * Fills `env` of this module before a host runs, for modules that read it while they are evaluated.
 * Call it in a module that is imported before them. `serve` and `createObjects` take `env`,
 * `bindings`, `services` and `scriptName` from here unless their options name them, and their `env` has these members.
 *
 * A namespace of `bindings` makes ids at once; it, a binding of `ctx-storage/bindings` and a service answer calls while a
 * host runs.
 */
export function provideEnv(env: object, names: EnvNames = {}): void {
  const members = { ...env, ...membersOf(names) };
  const sources: Record<string, unknown> = { ...env, ...names.bindings, ...names.services };
  provide({
    options: { env, ...names },
    env: members,
    sources: new Map(Object.keys(members).map((name) => [name, sources[name]])),
    isTaken: false,
  });
}

/** Adds to the provided `env`, before the modules that read these members are evaluated. */
export function provideMore(bindings: GivenBindings): void {
  const { options, ...rest } = provided();
  const { env, sources } = rest;
  const { scriptName } = options;
  Object.assign(env, membersOf({ bindings, ...(scriptName !== undefined && { scriptName }) }));
  for (const [name, given] of Object.entries(bindings)) sources.set(name, given);
  provide({ ...rest, options: { ...options, bindings: { ...options.bindings, ...bindings } } });
}

/** Props of a provided service, until a host writes them. */
const UNWRITTEN = Object.freeze(new Uint8Array());

function propsOf(member: unknown): EntryAddress['props'] {
  return (addressOf(member as object) as EntryAddress | undefined)?.props;
}

/** Members of `env` that reach objects and entry points while a host runs. @throws CLASS_INVALID */
function membersOf(names: EnvNames): Record<string, unknown> {
  const { bindings = {}, services = {}, scriptName, compatibilityFlags = [] } = names;
  const namespaceOf = (className: string) => {
    const ids = new ObjectIdFactory(uniqueKeyOf(className, scriptName));
    return new DurableObjectNamespace({ className, ids, caller: runningHost });
  };
  const members: Record<string, unknown> = {};
  for (const [name, given] of Object.entries(bindings)) {
    const parts = bindingParts(given, name);
    if (typeof given === 'string') members[name] = namespaceOf(given);
    else if (parts === undefined) members[name] = given;
    else if (parts.client) members[name] = parts.client(namespaceOf(parts.className) as never);
  }
  for (const [name, to] of Object.entries(services)) {
    const { service, entrypoint, props }: ServiceBinding =
      typeof to === 'string' ? { service: to } : to;
    const worker = service === (scriptName ?? OWN_NAME) ? undefined : service;
    const sendsEvents = compatibilityFlags.includes(EXTRA_HANDLERS);
    const address = entryAddress(worker, entrypoint, props && UNWRITTEN);
    members[name] = serviceStub(address, runningHost, sendsEvents);
  }
  return members;
}

/**
 * `env` of a host that starts, from the members that it has made: the provided `env`, which code may hold since modules
 * were evaluated, with the host's own members in place of those that its options make otherwise.
 *
 * @throws CLASS_INVALID if a member was read before it existed
 */
function shared(
  made: Record<string, unknown>,
  sources: Readonly<Record<string, unknown>>,
): HostEnv {
  const early = [...takeMissed()].find((name) => Object.hasOwn(made, name));
  if (early !== undefined) {
    throw storageError(
      'CLASS_INVALID',
      `env.${early} was read while modules were evaluated, before it existed. Give it to provideEnv(), in a module that ` +
        'is imported before the code that reads it, or read it in a handler.',
    );
  }
  const given = provided();
  if (given.isTaken) return { env: made, leave: () => {} };
  const { env } = given;
  const provides = new Map(Object.entries(env));
  for (const name of given.sources.keys()) if (!Object.hasOwn(made, name)) delete env[name];
  for (const [name, member] of Object.entries(made)) {
    const isSame = given.sources.has(name) && given.sources.get(name) === sources[name];
    if (!isSame) env[name] = member;
    else if (propsOf(env[name]) === UNWRITTEN) {
      Object.assign(addressOf(env[name] as object)!, addressOf(member as object));
    }
  }
  given.isTaken = true;
  return {
    env,
    leave: () => {
      // Members of a host that has ended reject every call: the next one has others. Code that holds its `env` keeps them.
      const kept = Object.entries(env).filter(([name, member]) => member !== made[name]);
      given.env = { ...Object.fromEntries(provides), ...Object.fromEntries(kept) };
      given.isTaken = false;
    },
  };
}

/**
 * The app of a host that starts: its options, with the provided values for missing options.
 *
 * @throws CLASS_INVALID
 */
export function appOf(table: ClassTable, options: AppOptions): App {
  const complete = { ...provided().options, ...options };
  const given = new EnvBindings(complete.bindings, complete.crons);
  const classes = new ClassRegistry(given.tableWith(table), {
    ...complete,
    bindings: given.classNames,
  });
  const { bindings = {}, scriptName } = provided().options;
  for (const [binding, className] of Object.entries(bindings)) {
    if (typeof className !== 'string') continue;
    const key = uniqueKeyOf(className, scriptName);
    const served = classes.find(className)?.uniqueKey ?? key;
    if (served === key) continue;
    throw storageError(
      'CLASS_INVALID',
      `provideEnv: the ids of ${binding} are made from "${key}", those of the class that is served ` +
        `from "${served}"; give both the same scriptName, and the class no uniqueKey.`,
    );
  }
  const workers = new Workers(complete, classes, given);
  const sources = {
    ...complete.env,
    ...Object.fromEntries(classes.bindings),
    ...complete.bindings,
    ...complete.services,
  };
  return {
    classes,
    env: complete.env ?? {},
    compatibilityFlags: complete.compatibilityFlags ?? [],
    share: (made) => shared(made, sources),
    entryTexts: workers.texts,
    ...(options.follow && { follow: options.follow }),
    // Without, a call runs through none of their code.
    ...(!workers.isEmpty && {
      entryPoints: (...parts: EntryPointsParts) => new EntryPoints(workers, ...parts),
    }),
  };
}

/** Calls objects of the running host. */
export const runningHost: ObjectCaller = currentCaller(runningCaller);

function runningCaller(): ObjectCaller {
  const bindings = runningHostBindings();
  if (bindings !== undefined) return bindings.caller;
  throw storageError(
    'CONNECTION_CLOSED',
    'An object was called while no host of objects runs: call it in a handler, not while modules ' +
      'are evaluated.',
  );
}
