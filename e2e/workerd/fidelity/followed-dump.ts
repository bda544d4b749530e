// Everything that an object stores but its alarm, as plain data. Runs on any platform, inside and outside of the object.

import { contentDump } from '../../../packages/follow/testing/content-dump.ts';
import { serialize } from '../../../src/shared/values/encode.ts';

type Row = Readonly<Record<string, unknown>>;

/** `ctx.storage`, or a handle of it. */
export interface DumpedStorage {
  readonly sql: { exec(query: string): { toArray(): Row[] | Promise<Row[]> } };
  list(): Promise<Map<string, unknown>>;
}

export interface Dump {
  readonly content: unknown;
  /** The bytes of each value. */
  readonly keys: Readonly<Record<string, string>>;
}

export async function dumpOf(storage: DumpedStorage): Promise<Dump> {
  const content = await contentDump(async (query) =>
    (await storage.sql.exec(query).toArray()).map((row) => Object.values(row)),
  );
  const hex = (value: unknown) => [...serialize(value)].map((byte) => byte.toString(16)).join(' ');
  const keys = [...(await storage.list())].map(([key, value]) => [key, hex(value)]);
  return { content, keys: Object.fromEntries(keys) };
}
