// Before every unit test file: the test that runs fails if SQLite gets a dead pointer; a file fails that leaves a host of
// objects open, whose globals would meet the next file; waiting for a condition may take as long as the test may; and
// buffers are equal only if their bytes are.

import { afterAll, afterEach, expect, vi } from 'vitest';
import type { Sqlite } from '../../worker/engine/vfs/sqlite-module.ts';

const violations: string[] = [];

type Wait = ((check: never, options?: object) => unknown) & { inner?: Wait };

vi.mock('../../worker/engine/vfs/sqlite-module.ts', async (importOriginal) => {
  const original =
    await importOriginal<typeof import('../../worker/engine/vfs/sqlite-module.ts')>();
  const { withLivePointers } = await import('../../packages/testing/worker/live-pointers.ts');
  // The checkers, one per module: code that knows a module by its identity must find the same one again.
  const checked = new WeakMap<Sqlite, Sqlite>();
  const loadSqlite: typeof original.loadSqlite = async (wasm) => {
    const sqlite = await original.loadSqlite(wasm);
    const known =
      checked.get(sqlite) ?? withLivePointers(sqlite, (found) => violations.push(found));
    checked.set(sqlite, known);
    return known;
  };
  return { ...original, loadSqlite };
});

/** Vitest polls for a second by default, every 50 ms: too short on a busy machine, and slow on a quiet one. */
const PATIENT = { timeout: 240_000, interval: 5 };
for (const name of ['waitFor', 'waitUntil'] as const) {
  const wait = vi[name] as Wait;
  // Files that share a process share `vi`.
  const inner = wait.inner ?? wait;
  Object.assign(vi, { [name]: Object.assign((check: never) => inner(check, PATIENT), { inner }) });
}

const expectNone = () => expect(violations.splice(0)).toEqual([]);
afterEach(expectNone);
afterAll(expectNone);

/** Globals that a running host replaces, as the process began with. */
const REPLACED = ['Date', 'fetch', 'Request', 'Response', 'WebSocket'] as const;
const scope = globalThis as { ownGlobals?: readonly unknown[]; comparesBytes?: true };
const globals = () => REPLACED.map((name) => Reflect.get(globalThis, name));
scope.ownGlobals ??= globals();
afterAll(() => expect(globals(), 'a host was left open').toEqual(scope.ownGlobals));

/** Files that share a process have channels of their own: the tabs of one would hear those of another. */
const channels = globalThis as { ownChannel?: typeof BroadcastChannel; fileCount?: number };
channels.ownChannel ??= BroadcastChannel;
channels.fileCount = (channels.fileCount ?? 0) + 1;
const prefix = `file ${channels.fileCount}: `;
globalThis.BroadcastChannel = class extends channels.ownChannel {
  constructor(name: string) {
    super(prefix + name);
  }
};

type Buffers = ArrayBuffer | SharedArrayBuffer | DataView | Uint8Array;
const KINDS = [ArrayBuffer, SharedArrayBuffer, DataView, Uint8Array];
const isBuffer = (value: unknown): value is Buffers =>
  typeof value === 'object' && KINDS.some((kind) => value instanceof kind);
const bytesIn = (buffer: Buffers) =>
  ArrayBuffer.isView(buffer)
    ? new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength)
    : new Uint8Array(buffer);

/** For `toEqual`, which by itself finds any two buffers equal, and takes seconds for a long array of bytes. */
function haveSameBytes(one: unknown, other: unknown): boolean | undefined {
  if (!isBuffer(one) || !isBuffer(other)) return undefined;
  // A Buffer of Node equals an array of the same bytes.
  const areArrays = one instanceof Uint8Array && other instanceof Uint8Array;
  if (one.constructor !== other.constructor && !areArrays) return false;
  if (one.byteLength !== other.byteLength) return false;
  // A detached buffer has no bytes to look at.
  return one.byteLength === 0 || Buffer.compare(bytesIn(one), bytesIn(other)) === 0;
}

// Files that share a process share the matchers.
if (scope.comparesBytes === undefined) expect.addEqualityTesters([haveSameBytes]);
scope.comparesBytes = true;
