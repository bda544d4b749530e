// The options of `createObjects`, in every runtime that has no page.

import type { ClassTableOptions } from '../instance/object-class.ts';
import type { QueryLimits } from '../sql/query-limits.ts';

/** Options of objects in this thread. */
export interface InProcessOptions extends ClassTableOptions {
  /** What the app passes to its objects, besides the namespaces. @default as given to `provideEnv` */
  readonly env?: object;
  /** How long an idle object stays in memory, in milliseconds. @default 10,000 */
  readonly idleMs?: number;
  /** How long a query may run, and how much of SQLite's memory an object may take. */
  readonly limits?: QueryLimits;
}
