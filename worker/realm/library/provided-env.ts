// `env` before a host runs: its content while modules are evaluated.
//
// Invariant: the provided `env` is the default of every host that starts later. An id made by a
// provided namespace is an id of the host's class; otherwise the host does not start.

import { DurableObjectNamespace } from '../../../src/shared/calls/stubs/namespace.ts';
import { currentCaller, type ObjectCaller } from '../../../src/shared/calls/stubs/stub.ts';
import { bindingParts } from '../../../src/shared/contract/env-binding.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import { ObjectIdFactory } from '../../../src/shared/contract/object-id.ts';
import { EntryPoints, type EntryPointsParts } from '../../objects/entries/entry-points.ts';
import { EnvBindings } from '../../objects/entries/env-bindings.ts';
import { Workers } from '../../objects/entries/workers.ts';
import type { StartFollowing } from '../../objects/host/object-host.ts';
import {
  ClassRegistry,
  type ClassTable,
  uniqueKeyOf,
} from '../../objects/instance/object-class.ts';
import { type AppOptions, type EnvNames, provide, provided } from './provided.ts';
import { runningHostBindings } from './running-hosts.ts';

export type { EnvNames } from './provided.ts';

/** The code of a host: the classes, the entry points and the `env` of one script. */
export interface App {
  readonly classes: ClassRegistry;
  /** The app's own `env`. */
  readonly env: object;
  readonly entryTexts?: readonly string[];
  readonly entryPoints?: (...parts: EntryPointsParts) => EntryPoints;
  readonly follow?: StartFollowing;
}

/**
 * Fills `env` of this module before a host runs, for modules that read it while they are evaluated.
 * Call it in a module that is imported before them. `serve` and `createObjects` take `env`,
 * `bindings` and `scriptName` from here unless their options name them.
 *
 * A namespace of `bindings` makes ids at once, and it and a binding of `ctx-storage/bindings` reach objects while a host runs.
 */
export function provideEnv(env: object, names: EnvNames = {}): void {
  const { bindings = {}, scriptName } = names;
  const namespaceOf = (className: string) => {
    const ids = new ObjectIdFactory(uniqueKeyOf(className, scriptName));
    return new DurableObjectNamespace({ className, ids, caller: runningHost });
  };
  const members = Object.entries(bindings).flatMap(([name, given]): [string, object][] => {
    if (typeof given === 'string') return [[name, namespaceOf(given)]];
    const parts = bindingParts(given, name);
    if (parts === undefined) return [[name, given]];
    return parts.client ? [[name, parts.client(namespaceOf(parts.className) as never)]] : [];
  });
  provide({
    options: { env, bindings, ...(scriptName !== undefined && { scriptName }) },
    env: { ...env, ...Object.fromEntries(members) },
  });
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
  return {
    classes,
    env: complete.env ?? {},
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
