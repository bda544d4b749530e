// The subcommand `ctx-storage log` prints and verifies the commit log of an object's folder.
//
// This module does not know how the files are read: it gets a report, and prints it.

import { statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { printable } from '@ctx-storage/command-line/printable';
import { type ExitCode, type Subcommand, UsageError } from '@ctx-storage/command-line/subcommand';
import type {
  CommitAuthor,
  LogReport,
  ReportedRecord,
  ReportedSegment,
} from '@ctx-storage/core/storage';

const USAGE = `Usage: ctx-storage log <folder or file>… [options]

Prints the records of the commit log of each object, verifies all checksums, and says what the next
opening does. A folder is that of one object (main, checkpoint, log-00000001 …); of a file, its folder
is verified, and only its records are printed. Nothing is written, and no lock is taken.

  --json  one JSON document: an array with a report for each folder

Exit code: 0 when the files are sound, 1 when something is damaged, 2 for bad input.
`;

export interface LogFolders {
  read(
    folder: string,
    nowMs: number,
  ): Promise<{ readonly report: LogReport; readonly isInUse: boolean }>;
}

export function logCommand(folders: LogFolders): Subcommand {
  return {
    summary: 'print and verify the commit log of an object',
    usage: USAGE,
    async run(args, { print, now }): Promise<ExitCode> {
      const { json, paths } = optionsOf(args);
      const logs = [];
      for (const [folder, segments] of byFolder(paths)) {
        const { report, isInUse } = await folders.read(folder, now());
        const printed = report.segments.filter(({ name }) => segments?.has(name) ?? true);
        logs.push({ folder, isInUse, ...report, segments: printed });
      }
      if (json) print(`${JSON.stringify(logs, null, 2)}\n`);
      else for (const log of logs) print(textOf(log));
      return logs.some(({ damage }) => damage.length > 0) ? 1 : 0;
    },
  };
}

function optionsOf(args: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { json: { type: 'boolean', default: false } },
    });
    if (positionals.length > 0) return { json: values.json, paths: positionals };
  } catch (error) {
    throw new UsageError(`log: ${(error as Error).message}`);
  }
  throw new UsageError("log: no folder; give the path of an object's folder, or of files in it.");
}

/** Returns, for each folder, the names of the segments to print; null means all of them. */
function byFolder(paths: readonly string[]): Map<string, Set<string> | null> {
  const folders = new Map<string, Set<string> | null>();
  for (const path of paths.map((given) => resolve(given))) {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) throw new UsageError(`log: "${path}" does not exist.`);
    if (stat.isDirectory()) {
      folders.set(path, null);
      continue;
    }
    const folder = dirname(path);
    const segments = folders.get(folder);
    if (segments === undefined) folders.set(folder, new Set([basename(path)]));
    else segments?.add(basename(path));
  }
  return folders;
}

function textOf(log: LogReport & { folder: string; isInUse: boolean }): string {
  const { checkpoint, opening, oldestMs, damage } = log;
  const lines = [log.folder];
  if (log.isInUse) {
    lines.push(
      '  in use: a process holds the folder, so the end of the log may change while it is read',
    );
  }
  if (checkpoint !== null) {
    const { segment, offset, sequence, pageCount } = checkpoint;
    lines.push(`  checkpoint: commit ${sequence}, ${segment} byte ${offset}, ${pageCount} pages`);
  }
  for (const segment of log.segments) lines.push(...segmentLines(segment));
  if (oldestMs !== null) lines.push(`  history: from ${timeOf(oldestMs)} on`);
  if (opening !== null) {
    const { redone, sequence, timeMs, pageCount, bookmark, restore } = opening;
    lines.push(
      `  opening: redoes ${redone} commits, up to commit ${sequence} of ${timeOf(timeMs)}; ${pageCount} pages`,
      `  bookmark: ${bookmark}`,
    );
    if (restore?.refused) lines.push(`  restore: refused. ${restore.refused}`);
    else if (restore) lines.push(`  restore: goes back to commit ${restore.sequence}`);
  }
  for (const line of damage) lines.push(`  DAMAGED  ${line}`);
  if (damage.length === 0) lines.push('  sound: all checksums match');
  return `${lines.join('\n')}\n`;
}

function segmentLines({ name, sizeBytes, isEmpty, records, end }: ReportedSegment): string[] {
  const state = isEmpty ? 'empty' : `${records.length} records to byte ${end}`;
  return [`  ${name}: ${sizeBytes} bytes, ${state}`, ...records.map(recordLine)];
}

function recordLine(record: ReportedRecord): string {
  const { offset, kind, sequence, timeMs, sizeBytes, pages, by } = record;
  const at = String(offset).padStart(9);
  return `  ${at}  ${kind.padEnd(7)}  ${sequence}  ${timeOf(timeMs)}  ${sizeBytes} bytes  ${pages} pages${by === undefined ? '' : `  ${authorText(by)}`}`;
}

/** The label of a commit may contain any text, so it is made safe to print. */
function authorText({ kind, ...names }: CommitAuthor): string {
  const listed = Object.entries(names).map(([name, text]) => `${name} ${JSON.stringify(text)}`);
  return printable(`by ${[kind, ...listed].join(', ')}`);
}

function timeOf(timeMs: number): string {
  const date = new Date(timeMs);
  return Number.isNaN(date.getTime()) ? `time ${timeMs}` : date.toISOString();
}
