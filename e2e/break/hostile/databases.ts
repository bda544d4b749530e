// Changed database files and WALs, given to importDatabase.
//
// Checks: an import ends within a bound. It is refused as IMPORT_INVALID, and the object keeps its
// data; or it is accepted, and then plain SQLite finds the export sound and the object works. The WASM
// never traps, and the other object of the host still works.

import { queryFile } from '../../../packages/testing/worker/foreign-files.ts';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import { isStorageError } from '../../../src/shared/contract/errors.ts';
import type { DurableObjectState } from '../../../src/shared/contract/object.ts';
import { type HostileFile, hostileFile, hostileWal } from './database-grammar.ts';
import { PollutionWatch } from './pollution.ts';
import type { Surface } from './surface.ts';

/** The deadline of an import is shorter; a busy machine stretches it. */
const IMPORT_MS_MAX = 20_000;

export async function openDatabases(kind: 'databases' | 'wal'): Promise<Surface> {
  const host = await createTestHost();
  const pollution = new PollutionWatch();
  await host.run(({ storage }) => storage.put('lives', 0), 'witness');
  let count = 0;
  let victims = 0;
  const witness = async (): Promise<string | undefined> => {
    const found = await host.run(async ({ storage }) => {
      const before = await storage.get('lives');
      await storage.put('lives', count + 1);
      return before;
    }, 'witness');
    return found === count++ ? undefined : `the other object has ${found} and not ${count - 1}`;
  };
  return {
    casesPerSeed: 4,
    async attack(draws) {
      const file = await (kind === 'wal' ? hostileWal(draws) : hostileFile(draws));
      const name = `victim ${++victims}`;
      const fault = (await judge(host, name, file)) ?? (await witness());
      await host.host.erase(host.address(name));
      return fault ?? pollution.found();
    },
    close: () => host.close(),
  };
}

async function judge(
  host: TestHost,
  name: string,
  { database, wal }: HostileFile,
): Promise<string | undefined> {
  await host.run(({ storage }) => storage.put('old', 1), name);
  const start = process.cpuUsage();
  let error: unknown;
  let isTaken = false;
  try {
    await host.host.importDatabase(host.address(name), database, wal);
    isTaken = true;
  } catch (thrown) {
    error = thrown;
  }
  const used = process.cpuUsage(start);
  const tookMs = (used.user + used.system) / 1000;
  if (tookMs > IMPORT_MS_MAX) return `the import took ${Math.round(tookMs)} ms`;
  if (isTaken) {
    const integrity = await exported(host, name);
    if (integrity !== 'ok') return `it was taken, and SQLite says of its export: ${integrity}`;
    return await host.run(({ storage }) => use(storage), name);
  }
  if (!isStorageError(error) || error.code !== 'IMPORT_INVALID') {
    return `the import failed with ${inWords(error)}`;
  }
  const old = await host.run(({ storage }) => storage.get('old'), name);
  return old === 1 ? undefined : `the import was refused, and the object's own value is ${old}`;
}

async function exported(host: TestHost, name: string): Promise<unknown> {
  const bytes = await host.host.deliver(host.address(name), ({ storage }) =>
    storage.databaseBytes(),
  );
  return (await queryFile(bytes, 'PRAGMA integrity_check'))[0]?.[0];
}

/** Reads and writes everything; a statement may fail in words, and only so. */
async function use(storage: DurableObjectState['storage']): Promise<string | undefined> {
  const tolerated = (error: unknown) => {
    if (!isStorageError(error) || !['SQL', 'SQL_FORBIDDEN', 'CORRUPT'].includes(error.code))
      throw error;
  };
  try {
    await storage.put('new', 2);
    if ((await storage.get('new')) !== 2) return 'it was taken, and does not keep a value';
    try {
      await storage.list();
    } catch (error) {
      tolerated(error);
    }
    const tables = storage.sql
      .exec("SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view')")
      .toArray() as { name: string; type: string }[];
    for (const { name, type } of tables) {
      const quoted = `"${name.replaceAll('"', '""')}"`;
      for (const text of [
        `SELECT * FROM ${quoted} LIMIT 100`,
        ...(type === 'table'
          ? [`INSERT INTO ${quoted} DEFAULT VALUES`, `DELETE FROM ${quoted}`]
          : []),
      ]) {
        try {
          storage.sql.exec(text).toArray();
        } catch (error) {
          tolerated(error);
        }
      }
    }
    await storage.sync();
    return undefined;
  } catch (error) {
    return `it was taken, and its use failed with ${inWords(error)}`;
  }
}

function inWords(error: unknown): string {
  return error instanceof Error ? `${error.stack}` : String(error);
}
