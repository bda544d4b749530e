// Stores the values given to `provideEnv` (provided-env.ts), without its many imports, for modules that only read them.

import { isRemote } from '../../../src/shared/calls/stubs/remote-name.ts';
import type { EntryOptions } from '../../objects/entries/workers.ts';
import type { StartFollowing } from '../../objects/host/object-host.ts';
import type { ClassTableOptions } from '../../objects/instance/object-class.ts';

/** The options of a host that define members of `env`. */
export type EnvNames = Pick<
  AppOptions,
  'bindings' | 'scriptName' | 'services' | 'compatibilityFlags'
>;

/** The options of a host that describe its script. */
export interface AppOptions extends Omit<ClassTableOptions, 'bindings'>, EntryOptions {
  readonly env?: object;
  readonly follow?: StartFollowing;
}

export interface Provided {
  /** The default options of hosts that start later. */
  readonly options: AppOptions;
  /** The content of `env` while no host runs. The first host that starts uses this object as its own `env`. */
  env: Record<string, unknown>;
  /** The option that each member was made from, by name of the member. */
  readonly sources: Map<string, unknown>;
  /** True while a host uses `env` as its own; also true if `provideEnv` was never called. */
  isInUse: boolean;
}

// This is module state, because modules that read `env` import it before anything could be passed to them.
let latest: Provided = { options: {}, env: Object.freeze({}), sources: new Map(), isInUse: true };

/** The missing members that code has read before the first host. Undefined once a host has started. */
let namesReadTooEarly: Set<string> | undefined = new Set();

export function latestProvided(): Provided {
  return latest;
}

export function provide(given: Provided): void {
  latest = given;
}

/** Returns the provided `env` to code that reads one member, and records the name if that member is missing. */
export function providedEnvForReader(name: string | symbol): Record<string, unknown> {
  if (isRemote(name) && !(name in latest.env)) namesReadTooEarly?.add(name);
  return latest.env;
}

/** Returns the recorded names, and stops recording: only code before the first host can read too early. */
export function takeNamesReadTooEarly(): ReadonlySet<string> {
  const names = namesReadTooEarly ?? new Set<string>();
  namesReadTooEarly = undefined;
  return names;
}
