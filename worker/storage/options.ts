// What is chosen for an object once, by its class: the backend, and the date whose behaviour it has.

/** `sql`: keys, SQL and recovery. `kv`: keys only, as classes on the default backend have it. */
export type Backend = 'sql' | 'kv';

export interface StorageOptions {
  /** @default 'sql' */
  readonly backend?: Backend;
  /**
   * `YYYY-MM-DD`: behaviour that the real storage changed on a date is the newer one from that date
   * on. Without it the written interface holds.
   */
  readonly compatibilityDate?: string;
}

/** From this date on `deleteAll` deletes the alarm as well (workerd: delete_all_deletes_alarm). */
const DELETE_ALL_DELETES_ALARM = '2026-02-24';

/** True when `deleteAll` is to delete the alarm. */
export function deleteAllDeletesAlarm({ compatibilityDate }: StorageOptions): boolean {
  return compatibilityDate !== undefined && compatibilityDate >= DELETE_ALL_DELETES_ALARM;
}
