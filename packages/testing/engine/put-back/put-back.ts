// Known defects, each as exact edits that put it back into the code, with a seed that finds it.
//
// The edits are made in a bundle of the sources, never in the sources themselves.

import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AUTHORED_SEEDS, TYPED_SEEDS } from '../plan.ts';
import type { Layer } from '../rounds.ts';
import type { PutBack } from './defect.ts';
import { writeDefective } from './defective-simulator.ts';
import { TORN_TURNS } from './torn-turns.ts';

const ENTRY = fileURLToPath(new URL('./first-failure.ts', import.meta.url));

export const PUT_BACKS: readonly PutBack[] = [
  {
    name: 'a flush does nothing',
    layer: 'objects',
    seed: 1,
    edits: [
      {
        file: 'packages/testing/simulate/world/crash-disk.ts',
        from: '      file.flushed(covered);\n',
        to: '',
      },
    ],
  },
  ...TORN_TURNS,
  {
    name: 'differences refer to pages that a checkpoint has written since',
    layer: 'objects',
    seed: 3_000_000,
    edits: [
      {
        file: 'worker/engine/log/committed-pages.ts',
        from: '    this.#exact.clear();\n',
        to: '',
      },
    ],
  },
  {
    name: 'bytes that moved twice come back from where they moved first',
    layer: 'objects',
    seed: 3_000_001,
    edits: [
      {
        file: 'worker/engine/log/earlier-pages.ts',
        from: 'sources.set(page.sources.subarray(from, from + length), at);',
        to: 'for (let i = 0; i < length; i++) sources[at + i] = this.#takeSlot(pageIndex) * PAGE_BYTES + from + i;',
      },
    ],
  },
  {
    name: 'commits that were cut off come back, because a failed flush dropped the cut',
    layer: 'objects',
    seed: 520_099,
    edits: [
      {
        file: 'worker/engine/log/segment.ts',
        from: 'so cut again.\n    this.cutAt(end);',
        to: 'so cut again.',
      },
    ],
  },
  {
    name: 'a flush that fails while commits are discarded is forgotten',
    layer: 'branches',
    seed: 60091,
    edits: [
      {
        file: 'worker/engine/log/object-files.ts',
        from: 'if (!isStorageError(error)) throw error;\n      this.#environment.failed?.();',
        to: 'if (!isStorageError(error)) throw error;',
      },
    ],
  },
  {
    name: 'on a full disk, a checkpoint names a segment whose header is not durable',
    layer: 'objects',
    seed: 5042,
    edits: [
      {
        file: 'worker/engine/log/page-store.ts',
        from: '      yield* log.flush(); // a checkpoint may',
        to: '      // a checkpoint may',
      },
    ],
  },
  {
    name: 'recovery keeps page images of a previous segment',
    layer: 'objects',
    seed: 5,
    edits: [{ file: 'worker/engine/log/redo.ts', from: '    this.overlay.clear();\n', to: '' }],
  },
  {
    name: 'a rollback makes a commit that is never flushed',
    layer: 'objects',
    seed: 16,
    edits: [
      {
        file: 'worker/engine/vfs/log-vfs.ts',
        from: 'if (this.#isRollingBack(pointer)) file.endRollback();\n          else file.commit();',
        to: 'file.commit();',
      },
      {
        file: 'worker/engine/storage/object-storage.ts',
        from: '      throw error;\n    }\n    this.#commits.named();',
        to: '      throw error;\n    }',
      },
    ],
  },
  {
    name: 'history that a restore needs is pruned while the restore is shown',
    layer: 'objects',
    seed: 470,
    edits: [
      {
        file: 'worker/engine/log/restore.ts',
        from: '    this.#log.keepFrom(place.segment);\n',
        to: '',
      },
      {
        file: 'worker/engine/log/object-files.ts',
        from: 'const shown = await corrections.lastCertain(newestMs - DAY_MS);',
        to: 'const shown = { timeMs: nowMs };', // Plans whose commits span two days are rare.
      },
    ],
  },
  {
    name: 'a restore that cannot be committed is shown no longer',
    layer: 'objects',
    seed: 19,
    edits: [
      {
        file: 'worker/engine/log/page-store.ts',
        from: '      this.undo(earlier, true);',
        to: '      this.#shown = null;\n      this.undo(earlier, true);',
      },
    ],
  },
  {
    name: 'a statement is used after its connection was closed',
    layer: 'objects',
    seed: 1,
    edits: [
      {
        file: 'worker/engine/sql/connection.ts',
        from: 'if (this.#depth === 0) task();\n    else this.#waiting.push(task);',
        to: 'task();',
      },
    ],
  },
  {
    name: 'the eviction of an instance that has ended closes the next one',
    layer: 'hosts',
    seed: 20,
    edits: [
      {
        file: 'worker/objects/io/lifecycle.ts',
        from: '    this.#cancelTimer?.();\n',
        to: '',
      },
      {
        file: 'worker/objects/io/lifecycle.ts',
        from: "      if (this.#state.kind !== 'idle') return; // The next rest sets the timer again.\n",
        to: "      if (this.#state.kind !== 'idle') return onEvict();\n",
      },
      {
        file: 'worker/objects/host/instances.ts',
        from: "    if (slot?.kind !== 'live' || slot.instance !== instance) return undefined;\n",
        to: "    if (slot?.kind !== 'live') return undefined;\n    instance = slot.instance;\n",
      },
    ],
  },
  {
    name: 'an instance that is closed leaves its events unanswered',
    layer: 'hosts',
    seed: 1,
    edits: [
      {
        file: 'worker/objects/io/lifecycle.ts',
        from: '    for (const { onEnd } of told) onEnd(state.reason);\n',
        to: '',
      },
    ],
  },
  {
    name: 'a host that closes removes the timers and Date of the other host',
    layer: 'hosts',
    seed: 19,
    edits: [
      {
        file: 'worker/realm/globals/realm.ts',
        from: 'if (!this.#users.delete(user) || this.#users.size > 0) return;',
        to: 'if (!this.#users.delete(user)) return;',
      },
    ],
  },
  {
    name: 'files are closed during a flush',
    layer: 'objects',
    seed: 12,
    edits: [
      {
        file: 'worker/engine/log/object-files.ts',
        from: '      await Promise.allSettled(this.#underWay);\n      await this.#pages.committed.untilRetriesEnd();\n',
        to: '',
      },
      {
        file: 'worker/engine/log/object-files.ts',
        from: '    if (this.#closed !== undefined) return;\n    if (isRestore || this.needsFlush ||',
        to: '    if (isRestore || this.needsFlush ||',
      },
    ],
  },
  {
    name: 'a transaction whose undo has failed stays open',
    layer: 'objects',
    seed: 100019,
    edits: [
      {
        file: 'worker/engine/sql/transaction-control.ts',
        from: '    this.#connection.whenIdle(() => this.#connection.events.onCritical(error));\n',
        to: '',
      },
    ],
  },
  {
    name: 'a put of many keys that fails keeps some',
    layer: 'objects',
    seed: 100011,
    edits: [
      {
        file: 'worker/engine/storage/transactions.ts',
        from: '      result = writes();\n    } catch (error) {\n      this.#undoWrites(savepoint);\n',
        to: '      result = writes();\n    } catch (error) {\n      if (this.#control.isOpen) this.#control.release(savepoint);\n',
      },
    ],
  },
  {
    name: 'a transaction that has thrown before its inner one ended stays open',
    layer: 'hosts',
    seed: 100000,
    edits: [
      {
        file: 'worker/engine/storage/transactions.ts',
        from: "    if (parent?.status === 'rolledBack') this.#undo(parent);\n",
        to: '',
      },
    ],
  },
  {
    name: 'a transaction that has returned before its inner one ended stays open',
    layer: 'hosts',
    seed: 100001,
    edits: [
      {
        file: 'worker/engine/storage/transactions.ts',
        from: '    this.#events.failed(error);\n    return error;',
        to: '    return error;',
      },
    ],
  },
  {
    name: 'a time that the wall clock showed twice names a state',
    layer: 'objects',
    seed: 600_003,
    edits: [
      {
        file: 'worker/engine/log/corrections.ts',
        from: '    return !this.#found.some((correction) => isDoubtedBy(commit, correction));',
        to: '    return true;',
      },
    ],
  },
  {
    name: 'history of a restore is pruned before the commit of the restore is durable',
    layer: 'objects',
    seed: 501_768,
    edits: [
      {
        file: 'worker/engine/log/commit-log.ts',
        from: '    return this.#durable.sequence >= until ? Number.POSITIVE_INFINITY : from;',
        to: '    return until < Number.POSITIVE_INFINITY ? Number.POSITIVE_INFINITY : from;',
      },
    ],
  },
  {
    name: 'a retry waits for the time of its alarm when the wall clock was set back',
    layer: 'alarms',
    seed: 33,
    edits: [
      {
        file: 'worker/objects/instance/object-instance.ts',
        from: 'const isEarly = retryCount === 0 && scheduledTime',
        to: 'const isEarly = scheduledTime',
      },
    ],
  },
  {
    name: 'the scheduler keeps the alarm of before a restore',
    layer: 'alarms',
    seed: 22,
    edits: [
      {
        file: 'worker/objects/host/object-alarms.ts',
        from: '    if (!this.#scheduler.stored(addressKey(address), alarmMs)) return;',
        to: '    if (alarmMs !== undefined) return;',
      },
      {
        file: 'worker/objects/host/object-alarms.ts',
        from: 'if (isUndone || instance.restoresAlarm) this',
        to: 'if (isUndone) this',
      },
      {
        file: 'worker/objects/host/object-alarms.ts',
        from: '    if (instance.restoresAlarm) this',
        to: '    if (instance === undefined) this',
      },
    ],
  },
  {
    name: 'timers follow the wall clock',
    layer: 'alarms',
    seed: 2,
    edits: [
      {
        file: 'worker/objects/clock/clock.ts',
        from: 'return this.#heldMs === undefined ? this.#system.elapsed() : this.#heldMs - this.#aheadMs;',
        to: 'return this.#heldMs === undefined ? this.#system.now() : this.#heldMs - this.#aheadMs;',
      },
      {
        file: 'worker/objects/clock/clock.ts',
        from: 'return { elapsedMs: this.#system.elapsed(), nowMs: this.#system.now() };',
        to: 'return { elapsedMs: this.#system.now(), nowMs: this.#system.now() };',
      },
    ],
  },
  {
    name: 'the next host does not look at objects that were in memory when power failed',
    layer: 'alarms',
    seed: 3,
    edits: [
      {
        file: 'worker/objects/host/object-alarms.ts',
        from: '    if (wakeMs === null) return;\n',
        to: '    if (wakeMs === null || wakeMs === 0) return;\n',
      },
    ],
  },
  {
    name: 'the list of branches is not flushed before it is acknowledged',
    layer: 'branches',
    seed: 2,
    edits: [{ file: 'worker/engine/log/kept-branches.ts', from: 'await file.flush();', to: '' }],
  },
  {
    name: 'history that a branch needs is pruned',
    layer: 'branches',
    seed: 47,
    edits: [
      {
        file: 'worker/engine/log/sealed-segments.ts',
        from: '    if (this.#isPinned(victim)) return false;\n',
        to: '',
      },
    ],
  },
  {
    name: 'a segment that a branch needs is discarded, because it is too large',
    layer: 'branches',
    seed: 700_065,
    edits: [
      {
        file: 'worker/engine/log/sealed-segments.ts',
        from: 'pruneOldest(): boolean {',
        to: 'pruneOldest(isTooMuch = false): boolean {',
      },
      {
        file: 'worker/engine/log/sealed-segments.ts',
        from: 'if (this.#isPinned(victim)) return false;',
        to: 'if (!isTooMuch && this.#isPinned(victim)) return false;',
      },
      {
        file: 'worker/engine/log/sealed-segments.ts',
        from: '!this.pruneOldest()) break;',
        to: '!this.pruneOldest(this.#isKept(0, Infinity) && !this.#isKept(0, kept.bytes))) break;',
      },
    ],
  },
  {
    name: 'a segment that opening or a restore needs is discarded, because it is too large',
    layer: 'objects',
    seed: 700_015,
    edits: [
      {
        file: 'worker/engine/log/sealed-segments.ts',
        from: 'pruneOldest(): boolean {',
        to: 'pruneOldest(isTooMuch = false): boolean {',
      },
      {
        file: 'worker/engine/log/sealed-segments.ts',
        from: 'if (victim.number >= Math.min(',
        to: 'if (!isTooMuch && victim.number >= Math.min(',
      },
      {
        file: 'worker/engine/log/sealed-segments.ts',
        from: '!this.pruneOldest()) break;',
        to: '!this.pruneOldest(this.#isKept(0, Infinity) && !this.#isKept(0, kept.bytes))) break;',
      },
    ],
  },
  {
    name: 'a branch begins a segment before the slot of its checkpoint is durable',
    layer: 'branches',
    seed: 26,
    edits: [
      {
        file: 'worker/engine/log/committed-pages.ts',
        from: 'if (this.#main.branch !== null) yield this.#checkpoints.flush();',
        to: '',
      },
    ],
  },
  {
    name: 'writes that a failed flush has dropped count as stored',
    layer: 'objects',
    seed: 30,
    edits: [
      {
        file: 'worker/engine/log/recovery.ts',
        from: 'if (environment.hasFailed && !isExact) {',
        to: 'if (false) {',
      },
    ],
  },
  {
    name: 'an emptied segment is closed after the write that needs its space',
    layer: 'objects',
    seed: 6,
    edits: [
      {
        file: 'worker/engine/log/sealed-segments.ts',
        from: '    discard(victim.file);\n',
        to: '    victim.file.truncate(0);\n    queueMicrotask(() => victim.file.close());\n',
      },
    ],
  },
  {
    name: 'an unfinished folded segment is damage, which ends the object',
    layer: 'objects',
    seed: 2_000_497,
    edits: [
      {
        file: 'worker/engine/log/segment.ts',
        from: 'minutes > 0 ? SEGMENT_HEADER_BYTES : file.sizeBytes()',
        to: 'minutes < 0 ? SEGMENT_HEADER_BYTES : file.sizeBytes()',
      },
      {
        file: 'worker/engine/log/sealed-segments.ts',
        from: 'this.#read(segment)?.folded?.savedBytes',
        to: 'this.#readWhole(segment)?.folded?.savedBytes',
      },
    ],
  },
  {
    name: 'the checksums of records are not verified',
    layer: 'objects',
    seed: 1,
    edits: [
      {
        file: 'worker/engine/log/record.ts',
        from: 'return checksum.ofRecord(words, RECORD.magic >> 2, record.length >> 2) === record.bytesSum;',
        to: 'return checksum.ofRecord(words, RECORD.magic >> 2, record.length >> 2) !== -1;',
      },
    ],
  },
];

/**
 * The first defect of each layer, which shows that the checks of the layer can fail. `npm run test:rest` puts these back,
 * `npm run test:release` all others.
 */
export const FIRST_OF_LAYERS: readonly PutBack[] = PUT_BACKS.filter(
  ({ layer }, i) => PUT_BACKS.findIndex((other) => other.layer === layer) === i,
);

/** Returns other seeds to try, of the same kind of plan. */
function seedsAfter(seed: number): number[] {
  const first = [TYPED_SEEDS, AUTHORED_SEEDS, 1].find((begin) => begin <= seed)!;
  return Array.from({ length: 60 }, (_, i) => first + i);
}

/**
 * Simulates the code with the defect. Returns the first failure, or null if there is none.
 *
 * A change of a plan's steps gives each seed another plan, so other seeds follow the known one.
 */
export async function findsPutBack({ layer, edits, seed }: PutBack): Promise<string | null> {
  const folder = await mkdtemp(join(tmpdir(), 'put-back-'));
  try {
    const simulator = join(folder, 'simulator.mjs');
    await writeDefective(ENTRY, edits, simulator);
    return await firstFailure(simulator, layer, [seed, ...seedsAfter(seed)]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function firstFailure(
  simulator: string,
  layer: Layer,
  seeds: readonly number[],
): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const options = { timeout: TIMEOUT_MS };
    execFile(process.execPath, [simulator, layer, seeds.join()], options, (error, stdout) => {
      if (error !== null) reject(error);
      else resolve(stdout === '' ? null : stdout.trim());
    });
  });
}

const TIMEOUT_MS = 600_000;
