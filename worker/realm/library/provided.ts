// The values provided before a host ran (provided-env.ts), for their readers.

import { isRemote } from '../../../src/shared/calls/stubs/remote-name.ts';
import type { EntryOptions } from '../../objects/entries/workers.ts';
import type { StartFollowing } from '../../objects/host/object-host.ts';
import type { ClassTableOptions } from '../../objects/instance/object-class.ts';

/** Options of a host that members of `env` are made from. */
export type EnvNames = Pick<
  AppOptions,
  'bindings' | 'scriptName' | 'services' | 'compatibilityFlags'
>;

/** Options of a host that concern its app. */
export interface AppOptions extends Omit<ClassTableOptions, 'bindings'>, EntryOptions {
  readonly env?: object;
  readonly follow?: StartFollowing;
}

export interface Provided {
  /** Defaults of hosts that start later. */
  readonly options: AppOptions;
  /** The content of `env` while no host runs, and of the host that takes it. */
  env: Record<string, unknown>;
  /** The value that each member was made from, by name. */
  readonly sources: Map<string, unknown>;
  /** True while a host has it as its own, and if nothing was provided. */
  isTaken: boolean;
}

// Of the module, since modules that read `env` import it before anything could be passed to them.
let latest: Provided = { options: {}, env: Object.freeze({}), sources: new Map(), isTaken: true };

/** Names that code has read before there was a host, and that were not provided; undefined once a host has run. */
let missed: Set<string> | undefined = new Set();

export function provided(): Provided {
  return latest;
}

export function provide(given: Provided): void {
  latest = given;
}

/** The provided `env`, whose reader asks for a member. */
export function providedFor(name: string | symbol): Record<string, unknown> {
  if (isRemote(name) && !(name in latest.env)) missed?.add(name);
  return latest.env;
}

/** The names that were read too early. There are none after the first host. */
export function takeMissed(): ReadonlySet<string> {
  const names = missed ?? new Set<string>();
  missed = undefined;
  return names;
}
