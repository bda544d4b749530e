// Reads the files of an object for `ctx-storage log`, in Node.
//
// Invariant: the files are opened for reading only, without a lock, so another process may use the object. A file that
// changes while it is read is recognized by its size and modification time. No assertion keeps this: another process
// changes it.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { LogReport } from '../../../src/shared/contract/log-report.ts';
import { reportLog } from '../../engine/log/log-report.ts';

const NAMES = /^(main|checkpoint|log-[0-9a-f]{8})$/;
/** The name of the file by which a process locks the folder of all objects. */
const LOCK_FILE = 'host.lock';

export interface ReadLog {
  readonly report: LogReport;
  /** True if the files have changed while they were read, or if a process holds the lock of their folder. */
  readonly isInUse: boolean;
}

/** Reads the files of the object in a folder. @throws an error of Node's file system */
export async function readLog(folder: string, nowMs: number): Promise<ReadLog> {
  const names = readdirSync(folder).filter((name) => NAMES.test(name));
  const stamp = () =>
    names
      .map((name) => statSync(join(folder, name), { throwIfNoEntry: false }))
      .map((stat) => `${stat?.size} ${stat?.mtimeMs}`)
      .join();
  const before = stamp();
  const bytes = new Map(
    names.map((name) => [name, new Uint8Array(readFileSync(join(folder, name)))] as const),
  );
  const isInUse = stamp() !== before || existsSync(join(dirname(folder), LOCK_FILE));
  return { report: await reportLog(bytes, nowMs), isInUse };
}
