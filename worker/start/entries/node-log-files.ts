// Reads the files of an object for `ctx-storage log`, in Node.
//
// Invariant: the files are opened for reading only, without a lock, so the object may be in use elsewhere. A file that
// changes while it is read is told by its size and time.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { LogReport } from '../../../src/shared/contract/log-report.ts';
import { reportLog } from '../../engine/log/log-report.ts';

const NAMES = /^(main|checkpoint|log-[0-9a-f]{8})$/;
/** The file with which a process locks the folder of all objects. */
const LOCK = 'host.lock';

export interface ReadLog {
  readonly report: LogReport;
  /** The files may change while they are read: they did, or a process holds their folder. */
  readonly isInUse: boolean;
}

/** @throws an error of Node's file system */
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
  const isInUse = stamp() !== before || existsSync(join(dirname(folder), LOCK));
  return { report: await reportLog(bytes, nowMs), isInUse };
}
