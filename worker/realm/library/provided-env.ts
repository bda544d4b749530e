// Implements `provideEnv`, which fills `env` before a host runs, so that modules can read it during evaluation.
//
// Invariant: the provided `env` is the default of every host that starts later. An id made by a provided namespace is
// valid for the host's class; a host whose class has other ids does not start.

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
import {
  type AppOptions,
  type EnvNames,
  latestProvided,
  provide,
  takeNamesReadTooEarly,
} from './provided.ts';
import { runningHostBindings } from './running-hosts.ts';

export type { EnvNames } from './provided.ts';

/** The `env` of a running host. The host calls `leave` when it ends. */
export interface HostEnv {
  readonly env: Record<string, unknown>;
  readonly leave: () => void;
}

/** One script as a host runs it: its classes, entry points and `env`. */
export interface App {
  readonly classes: ClassRegistry;
  /** The members of `env` from the app's options, without namespaces and services. */
  readonly env: object;
  readonly compatibilityFlags?: readonly string[];
  readonly entryTexts?: readonly string[];
  readonly entryPoints?: (...parts: EntryPointsParts) => EntryPoints;
  /** Makes the complete `env` from the members that the host has created. */
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
  const members = { ...env, ...makeEnvMembers(names) };
  const sources: Record<string, unknown> = { ...env, ...names.bindings, ...names.services };
  provide({
    options: { env, ...names },
    env: members,
    sources: new Map(Object.keys(members).map((name) => [name, sources[name]])),
    isInUse: false,
  });
}

/** Adds bindings to the provided `env`. Call it before the modules that read them are evaluated. */
export function provideMore(bindings: GivenBindings): void {
  const { options, ...rest } = latestProvided();
  const { env, sources } = rest;
  const { scriptName } = options;
  Object.assign(env, makeEnvMembers({ bindings, ...(scriptName !== undefined && { scriptName }) }));
  for (const [name, given] of Object.entries(bindings)) sources.set(name, given);
  provide({ ...rest, options: { ...options, bindings: { ...options.bindings, ...bindings } } });
}

/** Stands for the props of a provided service until a host has serialized them. */
const UNSERIALIZED_PROPS = Object.freeze(new Uint8Array());

function propsOf(member: unknown): EntryAddress['props'] {
  return (addressOf(member as object) as EntryAddress | undefined)?.props;
}

/** Makes the provided namespaces, bindings and services, which call whichever host runs. @throws CLASS_INVALID */
function makeEnvMembers(names: EnvNames): Record<string, unknown> {
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
    const address = entryAddress(worker, entrypoint, props && UNSERIALIZED_PROPS);
    members[name] = serviceStub(address, runningHost, sendsEvents);
  }
  return members;
}

/**
 * Makes the `env` of a host that starts. It is the provided `env` object, because modules may have kept members of it;
 * members that the host's options define differently are replaced by the host's own.
 *
 * @throws CLASS_INVALID if a member was read before it existed
 */
function takeProvidedEnv(
  made: Record<string, unknown>,
  sources: Readonly<Record<string, unknown>>,
): HostEnv {
  const readTooEarly = [...takeNamesReadTooEarly()].find((name) => Object.hasOwn(made, name));
  if (readTooEarly !== undefined) {
    throw storageError(
      'CLASS_INVALID',
      `env.${readTooEarly} was read while modules were evaluated, before it existed. Give it to provideEnv(), in a module that ` +
        'is imported before the code that reads it, or read it in a handler.',
    );
  }
  const given = latestProvided();
  if (given.isInUse) return { env: made, leave: () => {} };
  const { env } = given;
  const membersBefore = new Map(Object.entries(env));
  for (const name of given.sources.keys()) if (!Object.hasOwn(made, name)) delete env[name];
  for (const [name, member] of Object.entries(made)) {
    const hasSameSource = given.sources.has(name) && given.sources.get(name) === sources[name];
    if (!hasSameSource) env[name] = member;
    else if (propsOf(env[name]) === UNSERIALIZED_PROPS) {
      Object.assign(addressOf(env[name] as object)!, addressOf(member as object));
    }
  }
  given.isInUse = true;
  return {
    env,
    leave: () => {
      // The host's members reject every call from now on, so the next host starts without them. Code that still holds
      // this host's `env` keeps them.
      const kept = Object.entries(env).filter(([name, member]) => member !== made[name]);
      given.env = { ...Object.fromEntries(membersBefore), ...Object.fromEntries(kept) };
      given.isInUse = false;
    },
  };
}

/**
 * Makes the app of a host that starts. Options that are missing come from `provideEnv`.
 *
 * @throws CLASS_INVALID
 */
export function appOf(table: ClassTable, options: AppOptions): App {
  const complete = { ...latestProvided().options, ...options };
  const given = new EnvBindings(complete.bindings, complete.crons);
  const classes = new ClassRegistry(given.tableWith(table), {
    ...complete,
    bindings: given.classNames,
  });
  const { bindings = {}, scriptName } = latestProvided().options;
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
    share: (made) => takeProvidedEnv(made, sources),
    entryTexts: workers.texts,
    ...(options.follow && { follow: options.follow }),
    // A script without entry points skips their code in every call.
    ...(!workers.isEmpty && {
      entryPoints: (...parts: EntryPointsParts) => new EntryPoints(workers, ...parts),
    }),
  };
}

/** Forwards each call to the host that runs at that moment. */
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
