// Known defects, each as exact edits that put it back into the code, with the seeds that find it.
//
// The edits are made in a copy of the sources, so none can be left in the code. It is an error if the
// text of an edit does not occur exactly once in its file: the edit must follow the code.

import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Layer } from '../rounds.ts';

interface Edit {
  readonly file: string;
  /** Text that occurs exactly once in the file. */
  readonly from: string;
  readonly to: string;
}

export interface PutBack {
  readonly name: string;
  readonly layer: Layer;
  /** Each of these seeds fails with the defect. */
  readonly seeds: readonly number[];
  readonly edits: readonly Edit[];
}

export const PUT_BACKS: readonly PutBack[] = [
  {
    name: 'recovery keeps page images of a previous segment',
    layer: 'objects',
    seeds: [5],
    edits: [{ file: 'worker/log/redo.ts', from: '    this.overlay.clear();\n', to: '' }],
  },
  {
    name: 'a rollback makes a commit that is never flushed',
    layer: 'objects',
    seeds: [16],
    edits: [
      {
        file: 'worker/vfs/log-vfs.ts',
        from: 'if (this.#isRollingBack(pointer)) file.endRollback();\n          else file.commit();',
        to: 'file.commit();',
      },
      {
        file: 'worker/storage/object-storage.ts',
        from: '    this.#log.commitRestore();\n    this.#commits.named();',
        to: '    this.#log.commitRestore();',
      },
    ],
  },
  {
    name: 'history that a restore needs is pruned while the restore is shown',
    layer: 'objects',
    seeds: [210],
    edits: [
      { file: 'worker/log/restore.ts', from: '    this.#log.keepFrom(place.segment);\n', to: '' },
    ],
  },
  {
    name: 'a restore that cannot be committed is shown no longer',
    layer: 'objects',
    seeds: [19],
    edits: [
      {
        file: 'worker/log/page-store.ts',
        from: '      this.undo(this.#shown.earlier, true);',
        to: '      const { earlier } = this.#shown;\n      this.#shown = null;\n      this.undo(earlier, true);',
      },
    ],
  },
  {
    name: 'a statement is used after its connection was closed',
    layer: 'objects',
    seeds: [1],
    edits: [
      {
        file: 'worker/sql/connection.ts',
        from: 'if (this.#depth === 0) task();\n    else this.#waiting.push(task);',
        to: 'task();',
      },
    ],
  },
  {
    name: 'the eviction of an instance that has ended closes the next one',
    layer: 'hosts',
    seeds: [20],
    edits: [
      {
        file: 'worker/io/lifecycle.ts',
        from: '    this.#cancelTimer?.();\n',
        to: '',
      },
      {
        file: 'worker/io/lifecycle.ts',
        from: "      if (this.#state.kind !== 'idle') return; // the next rest sets it again\n",
        to: "      if (this.#state.kind !== 'idle') return onEvict();\n",
      },
      {
        file: 'worker/host/instances.ts',
        from: "    if (slot?.kind !== 'live' || slot.instance !== instance) return undefined;\n",
        to: "    if (slot?.kind !== 'live') return undefined;\n    instance = slot.instance;\n",
      },
    ],
  },
  {
    name: 'an instance that is closed leaves its events unanswered',
    layer: 'hosts',
    seeds: [1],
    edits: [
      {
        file: 'worker/io/lifecycle.ts',
        from: '    for (const { onEnd } of told) onEnd(state.reason);\n',
        to: '',
      },
    ],
  },
  {
    name: 'a host that closes removes the timers and Date of the other host',
    layer: 'hosts',
    seeds: [1],
    edits: [
      {
        file: 'worker/globals/realm.ts',
        from: 'if (this.#hosts.delete(entry) && this.#hosts.size === 0) this.#uninstall();',
        to: 'if (this.#hosts.delete(entry)) this.#uninstall();',
      },
    ],
  },
  {
    name: 'files are closed during a flush',
    layer: 'objects',
    seeds: [12],
    edits: [
      {
        file: 'worker/log/object-files.ts',
        from: '      await Promise.allSettled(this.#underWay);\n      await this.#pages.committed.settled();\n',
        to: '',
      },
      {
        file: 'worker/log/object-files.ts',
        from: '    if (this.#closed !== undefined) return;\n    if (isRestore || this.needsFlush ||',
        to: '    if (isRestore || this.needsFlush ||',
      },
    ],
  },
  {
    name: 'a flush does nothing',
    layer: 'objects',
    seeds: [1],
    edits: [{ file: 'worker/sim/crash-disk.ts', from: '      file.flushed(covered);\n', to: '' }],
  },
  {
    name: 'the checksums of records are not verified',
    layer: 'objects',
    seeds: [1, 2, 3],
    edits: [
      {
        file: 'worker/log/record.ts',
        from: 'return checksum.ofRecord(words, RECORD.magic >> 2, record.length >> 2) === record.sum;',
        to: 'return checksum.ofRecord(words, RECORD.magic >> 2, record.length >> 2) !== -1;',
      },
    ],
  },
];

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const SCRIPT = fileURLToPath(new URL('./first-failure.ts', import.meta.url));

/**
 * Simulates the code with the defect. Returns the first failure, or null if there is none.
 *
 * `seeds`: seeds to try in place of the known ones.
 */
export async function findsPutBack(
  { layer, edits, seeds: known }: PutBack,
  seeds: readonly number[] = known,
): Promise<string | null> {
  const copy = await mkdtemp(join(tmpdir(), 'put-back-'));
  try {
    for (const folder of ['src', 'worker']) {
      await cp(join(ROOT, folder), join(copy, folder), { recursive: true });
    }
    for (const file of ['package.json', 'tsconfig.base.json']) {
      await cp(join(ROOT, file), join(copy, file));
    }
    await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'), 'dir');
    for (const edit of edits) await apply(copy, edit);
    return await firstFailure(copy, layer, seeds);
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

async function apply(copy: string, { file, from, to }: Edit): Promise<void> {
  const path = join(copy, file);
  const text = await readFile(path, 'utf8');
  const count = text.split(from).length - 1;
  if (count !== 1) throw new Error(`${file} contains the text to edit ${count} times:\n${from}`);
  await writeFile(
    path,
    text.replace(from, () => to),
  );
}

function firstFailure(
  copy: string,
  layer: Layer,
  seeds: readonly number[],
): Promise<string | null> {
  const script = join(copy, relative(ROOT, SCRIPT));
  const args = ['--import', 'tsx', script, layer, seeds.join()];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd: copy, timeout: TIMEOUT_MS }, (error, stdout) => {
      if (error !== null) reject(error);
      else resolve(stdout === '' ? null : stdout.trim());
    });
  });
}

const TIMEOUT_MS = 120_000;
