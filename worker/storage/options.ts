// Options of an object, set by its class: the backend, and the compatibility date.

/** `sql`: keys, SQL and recovery. `kv`: keys only, as for classes on workerd's default backend. */
export type Backend = 'sql' | 'kv';

export interface StorageOptions {
  /** @default 'sql' */
  readonly backend?: Backend;
  /**
   * `YYYY-MM-DD`: changes that workerd made up to this date apply. Without it, the written
   * interface applies.
   */
  readonly compatibilityDate?: string;
}

/** From this date on, `deleteAll` also deletes the alarm (workerd: delete_all_deletes_alarm). */
const DELETE_ALL_DELETES_ALARM = '2026-02-24';

/** True if `deleteAll` deletes the alarm. */
export function deleteAllDeletesAlarm({ compatibilityDate }: StorageOptions): boolean {
  return compatibilityDate !== undefined && compatibilityDate >= DELETE_ALL_DELETES_ALARM;
}
