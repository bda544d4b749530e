// Whether live reads know the tables of each statement of a program: SQLite tells its authorizer, and the compiled statement
// opens them.

import { ProgramReader, untoldTables } from '../../../packages/testing/worker/opened-tables.ts';
import { openInMemory } from '../../../packages/testing/worker/test-database.ts';
import type { QueryWatcher } from '../../../worker/engine/sql/query-policy.ts';
import type { QueryTables } from '../../../worker/engine/sql/query-tables.ts';
import type { Step } from './step.ts';

/** Returns the first statement that opens a table which is not reported; undefined if there is none. */
export async function untoldStatement(steps: readonly Step[]): Promise<string | undefined> {
  const [database, reader] = await Promise.all([openInMemory(), ProgramReader.open()]);
  let told: QueryTables | undefined;
  const watcher: QueryWatcher = {
    onQuery(tables) {
      told = tables;
    },
    onRow() {},
  };
  try {
    for (const { sql, bindingCount } of statementsOf(steps)) {
      told = undefined;
      try {
        // Any values: the compiled statement is the same, and a row may be refused.
        database
          .exec(
            sql,
            Array.from({ length: bindingCount }, () => null),
            undefined,
            watcher,
          )
          .toArray();
        if (/^CREATE/.test(sql)) {
          reader.run(sql);
          continue;
        }
      } catch {
        if (told === undefined) continue;
      }
      const untold = untoldTables(told!, reader.opened(sql));
      if (untold.length > 0) return `${sql}: opens ${untold.join(', ')}`;
    }
    return undefined;
  } finally {
    database.close();
    reader.close();
  }
}

interface Statement {
  readonly sql: string;
  readonly bindingCount: number;
}

/** Returns the statements of the steps, without those that are rewritten for this build of SQLite. */
function statementsOf(steps: readonly Step[]): Statement[] {
  return steps.flatMap(({ sql, bindings, steps: inner }) => {
    if (inner !== undefined) return statementsOf(inner);
    if (typeof sql !== 'string' || /ORDER BY id DESC LIMIT \d$/.test(sql)) return [];
    return [{ sql, bindingCount: Array.isArray(bindings) ? bindings.length : 0 }];
  });
}
