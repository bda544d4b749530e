// Runs a friend and a fleet of hostile followers against one followed object, each in a process of its own, and measures.
//
// First the friend is alone, and then with the fleet. Neither knows of the other.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { FleetOptions, FleetReport } from './fleet-process.ts';
import { FRIEND } from './fleet-room.ts';
import type { FriendCalls, FriendEnd, FriendRequest } from './friend-process.ts';
import { type FollowedServer, type Platform, startServer } from './servers.ts';

export interface FleetRun extends Omit<FleetOptions, 'url' | 'friendName'> {
  readonly platform: Platform;
  /** How long the friend is alone, and how long the fleet is there. */
  readonly aloneMs: number;
  readonly fleetMs: number;
  /** Prints a line about each part of the run. */
  readonly print?: (line: string) => void;
}

/** The resident memory of the server, in MB. */
export interface Memory {
  readonly before: number;
  readonly after: number;
  readonly max: number;
}

export interface FleetResult {
  readonly alone: FriendCalls;
  readonly withFleet: FriendCalls;
  readonly memory: Memory;
  readonly fleet: FleetReport;
  /** Acknowledged calls of the friend whose effect is not there, or is there more than once; and errors of calls. */
  readonly lost: readonly string[];
  readonly duplicated: readonly string[];
  readonly failures: readonly string[];
  readonly acknowledged: number;
  readonly unanswered: number;
  readonly isServerAlive: boolean;
  /** How much of a core the server used while the fleet was there. */
  readonly coreShare: number;
  /** The object, when all is over. */
  readonly size: { readonly bytes: number; readonly clients: number };
}

const SAMPLE_MS = 1000;
/** Before anything is measured: code is compiled, and memory is asked for. */
const WARM_UP_MS_MAX = 10_000;
const PAGES = 40;
const PAGE_BYTES = 50_000;
const PRINTED_EACH_MS = 30_000;

export async function runFleet(run: FleetRun): Promise<FleetResult> {
  const folder = mkdtempSync(join(tmpdir(), 'ctx-storage-fleet-'));
  const ends: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  try {
    const serverFolder = join(folder, 'server');
    mkdirSync(serverFolder);
    const server = await startServer(run.platform, serverFolder);
    ends.push(() => server.end());
    await server.call('fill', PAGES, PAGE_BYTES);
    const friend = forkHere('friend-process.ts', server.url, join(folder, 'friend'));
    ends.push(() => friend.kill('SIGKILL'));
    return await measure(run, server, friend, ends);
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

async function measure(
  { platform, aloneMs, fleetMs, print = () => {}, ...options }: FleetRun,
  server: FollowedServer,
  friend: ChildProcess,
  ends: (() => unknown)[],
): Promise<FleetResult> {
  const askFriend = (request: FriendRequest) => ask(friend, request);
  await setTimeout(Math.min(aloneMs, WARM_UP_MS_MAX));
  await askFriend('part');
  await setTimeout(aloneMs);
  const alone = (await askFriend('part')) as FriendCalls;
  const before = residentMb(server.pid);
  print(`alone: ${describeCalls(alone)}, ${before} MB`);

  const [friendName] = await server.call('clientNames');
  const fleetOptions: FleetOptions = { ...options, url: server.url, friendName: friendName! };
  const fleet = forkHere('fleet-process.ts', JSON.stringify(fleetOptions));
  ends.push(() => fleet.kill('SIGKILL'));
  const parts: FriendCalls[] = [];
  let max = before;
  const startMs = performance.now();
  const cpuBeforeMs = cpuMs(server.pid);
  const endMs = startMs + fleetMs;
  let printAtMs = performance.now() + PRINTED_EACH_MS;
  while (performance.now() < endMs && server.isAlive) {
    await setTimeout(SAMPLE_MS);
    const nowMb = residentMb(server.pid);
    max = Math.max(max, nowMb);
    if (performance.now() < printAtMs) continue;
    printAtMs += PRINTED_EACH_MS;
    parts.push((await askFriend('part')) as FriendCalls);
    const { sent, open, seconds } = (await ask(fleet, 'report')) as FleetReport;
    const sentText = `${Math.round(sent / seconds)} messages/s, ${open} open`;
    print(`with the fleet: ${describeCalls(parts.at(-1)!)}, ${nowMb} MB; ${sentText}`);
  }
  parts.push((await askFriend('part')) as FriendCalls);
  const coreShare = (cpuMs(server.pid) - cpuBeforeMs) / (performance.now() - startMs);
  const report = (await ask(fleet, 'leave')) as FleetReport;
  const { acknowledged, failures, unanswered } = (await askFriend('end')) as FriendEnd;
  const isServerAlive = server.isAlive;
  const entries: readonly string[] = isServerAlive ? await server.call('entriesOf', FRIEND) : [];
  return {
    alone,
    withFleet: {
      durationsMs: parts.flatMap(({ durationsMs }) => durationsMs),
      closes: parts.flatMap(({ closes }) => closes),
    },
    memory: { before, after: isServerAlive ? residentMb(server.pid) : 0, max },
    fleet: report,
    lost: missingFrom(entries, acknowledged),
    duplicated: entries.filter((id, i) => i !== entries.indexOf(id)),
    ...{ failures, acknowledged: acknowledged.length, unanswered, isServerAlive, coreShare },
    size: isServerAlive ? await server.call('size') : { bytes: 0, clients: 0 },
  };
}

/** Returns the value below which this fraction of the durations is. */
export function quantile(durationsMs: readonly number[], fraction: number): number {
  const sorted = durationsMs.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? Number.NaN;
}

export function describeCalls({ durationsMs, closes }: FriendCalls): string {
  const [median, p99] = [quantile(durationsMs, 0.5), quantile(durationsMs, 0.99)];
  const ended = closes.length === 0 ? '' : `, closed with ${closes}`;
  return `${durationsMs.length} calls, median ${median.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms${ended}`;
}

function missingFrom(entries: readonly string[], ids: readonly string[]): string[] {
  const there = new Set(entries);
  return ids.filter((id) => !there.has(id));
}

/** The resident memory of a process, in MB (proc(5)); 0 if it has ended. */
function residentMb(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
  } catch {
    return 0;
  }
}

/** The time that a process has used a core, in milliseconds (proc(5): clock ticks of 10 ms). */
function cpuMs(pid: number): number {
  try {
    // The name of the command, in parentheses, may have spaces; utime and stime are the 12th and 13th field after it.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return 0;
  }
}

function forkHere(file: string, ...parameters: string[]): ChildProcess {
  return fork(join(import.meta.dirname, file), parameters, {
    execArgv: ['--import', 'tsx'],
  });
}

/** @throws if the process ends before it answers */
async function ask(child: ChildProcess, request: string): Promise<unknown> {
  const ended = new AbortController();
  const answer = once(child, 'message', { signal: ended.signal });
  const end = () => ended.abort(new Error(`A process ended before it answered "${request}".`));
  child.once('exit', end);
  if (child.exitCode !== null || child.signalCode !== null) end();
  try {
    child.send(request);
    return (await answer)[0];
  } finally {
    child.off('exit', end);
  }
}
