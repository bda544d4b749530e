export interface Contents {
  readonly values: Record<string, unknown>;
  /** How many bulk keys there are, and a sum over them and their values. */
  readonly bulk: readonly [count: number, sum: number];
  readonly rows: unknown;
  readonly found: unknown;
  readonly alarm: number | null;
}

export type Canonicalize = (value: unknown) => unknown;

/** Stores every kind of value, so many bulk keys, tables, and an alarm. */
export function fill(storage: object, bulkCount: number, alarmMs: number): Promise<void>;

/** What is stored, as JSON. */
export function read(storage: object, canonicalize: Canonicalize): Promise<Contents>;
