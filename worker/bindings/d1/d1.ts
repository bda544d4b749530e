// `d1()`: a D1 database, as `env` has it.

import { BINDING, type EnvBinding } from '../../../src/shared/contract/env-binding.ts';
import type { DurableObjectNamespace } from '../../../src/shared/contract/object.ts';
import { D1Database } from './d1-database.ts';
import { type D1Migration, D1Object } from './d1-object.ts';

export interface D1Options {
  /** Names its data: bindings with the same id share it. @default the name of the binding */
  readonly id?: string;
  /**
   * Texts by file names, or by paths as `import.meta.glob` has them. Those that the table `d1_migrations` lacks are
   * applied before the first statement, in the order of the numbers that their names begin with.
   */
  readonly migrations?: Readonly<Record<string, string>>;
}

/** A D1 database: `bindings: { DB: d1() }`. */
export function d1({ id, migrations = {} }: D1Options = {}): EnvBinding {
  const ordered = inOrder(migrations);
  return {
    [BINDING]: (name) => ({
      className: 'D1Object',
      class: D1Object,
      client: (objects) =>
        new D1Database(objects as DurableObjectNamespace<D1Object>, id ?? name, ordered),
    }),
  };
}

function inOrder(migrations: Readonly<Record<string, string>>): D1Migration[] {
  const named = Object.entries(migrations).map(([path, sql]) => ({
    name: path.slice(path.lastIndexOf('/') + 1),
    sql,
  }));
  const numberOf = ({ name }: D1Migration) => Number.parseInt(name, 10) || 0;
  return named.sort((a, b) => numberOf(a) - numberOf(b) || (a.name < b.name ? -1 : 1));
}
