// The values provided before a host ran (provided-env.ts), for their readers.

import type { EntryOptions } from '../../objects/entries/workers.ts';
import type { StartFollowing } from '../../objects/host/object-host.ts';
import type { ClassTableOptions } from '../../objects/instance/object-class.ts';

/** The names that ids and namespaces are made from, as in a host's options. */
export type EnvNames = Pick<AppOptions, 'bindings' | 'scriptName'>;

/** Options of a host that concern its app. */
export interface AppOptions extends Omit<ClassTableOptions, 'bindings'>, EntryOptions {
  readonly env?: object;
  readonly follow?: StartFollowing;
}

interface Provided {
  /** Defaults of hosts that start later. */
  readonly options: AppOptions;
  /** The content of `env` while no host runs. */
  readonly env: object;
}

// Of the module, since modules that read `env` import it before anything could be passed to them.
let latest: Provided = { options: {}, env: {} };

export function provided(): Provided {
  return latest;
}

export function provide(given: Provided): void {
  latest = given;
}
