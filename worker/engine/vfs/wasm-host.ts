// Starts SQLite's WebAssembly and provides its imports: memory that grows, and local time.
//
// The official build comes with Emscripten's loader: 200 kB of file systems, environment variables and an API that this
// package does not call. Databases live in this package's VFS, which takes time and randomness from the platform. So
// all other system calls return “not implemented”.
//
// Invariant: only imports from `env` and WASI are provided. A module with any other import does not start.

const PAGE_BYTES = 65_536;

/** The sizes of memory that the build declares; WebAssembly refuses a memory with another maximum. */
const MEMORY_PAGES = { initial: 128, maximum: 32_768 };
const MEMORY_BYTES_MAX = MEMORY_PAGES.maximum * PAGE_BYTES;

/**
 * To grow seldom, memory grows by more than SQLite asks for: by the first of these shares of its size that the device
 * has, but by no more than the maximum.
 */
const SPARE_SHARES = [0.2, 0.1, 0.05, 0];
const SPARE_BYTES_MAX = 96 * 1024 * 1024;

/** WASI's error number for “not implemented”; system calls return it negative. */
const NOSYS = 52;

/** A started module. */
export interface StartedWasm {
  readonly exports: WebAssembly.Exports;
  readonly memory: WebAssembly.Memory;
}

/**
 * Starts SQLite's compiled module, which takes a millisecond; compiling takes much longer.
 *
 * @throws an error of WebAssembly if the module is another program
 */
export function startWasm(module: WebAssembly.Module): StartedWasm {
  const memory = new WebAssembly.Memory(MEMORY_PAGES);
  const { exports } = new WebAssembly.Instance(module, importsOf(module, memory));
  const start = exports.__wasm_call_ctors;
  if (typeof start !== 'function') throw new Error('this WebAssembly is not a build of SQLite');
  start();
  return { exports, memory };
}

function importsOf(module: WebAssembly.Module, memory: WebAssembly.Memory): WebAssembly.Imports {
  const env: Record<string, WebAssembly.ImportValue> = {};
  const wasi: Record<string, WebAssembly.ImportValue> = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    if (from === 'env') env[name] = () => -NOSYS;
    if (from === 'wasi_snapshot_preview1') wasi[name] = () => NOSYS;
  }
  Object.assign(env, {
    memory,
    emscripten_get_heap_max: () => MEMORY_BYTES_MAX,
    emscripten_resize_heap: (sizeBytes: number) => Number(grow(memory, sizeBytes >>> 0)),
    emscripten_date_now: () => Date.now(),
    emscripten_get_now: () => performance.now(),
    _tzset_js: (zone: number, hasSummerTime: number, name: number, summerName: number) => {
      const i32 = new Int32Array(memory.buffer);
      const offsets = offsetsOf(new Date().getFullYear());
      i32[zone >> 2] = Math.max(...offsets) * 60;
      i32[hasSummerTime >> 2] = Number(offsets[0] !== offsets[1]);
      // SQLite does not ask for the name of the zone.
      for (const pointer of [name, summerName]) new Uint8Array(memory.buffer)[pointer] = 0;
    },
    _localtime_js: (seconds: bigint, target: number) => {
      const parts = localTimeOf(new Date(Number(seconds) * 1000));
      new Int32Array(memory.buffer).set(parts, target >> 2);
    },
  });
  return { env, wasi_snapshot_preview1: wasi };
}

function grow(memory: WebAssembly.Memory, sizeBytes: number): boolean {
  if (sizeBytes > MEMORY_BYTES_MAX) return false;
  const nowBytes = memory.buffer.byteLength;
  return SPARE_SHARES.some((share) => {
    const spareBytes = Math.min(nowBytes * share, SPARE_BYTES_MAX);
    const wantedBytes = Math.min(Math.max(sizeBytes, nowBytes + spareBytes), MEMORY_BYTES_MAX);
    try {
      memory.grow(Math.ceil((wantedBytes - nowBytes) / PAGE_BYTES));
      return true;
    } catch {
      return false; // The device has less memory left: the caller tries the next smaller share.
    }
  });
}

/** Returns the members of C's `struct tm` in their order. */
function localTimeOf(date: Date): number[] {
  const year = date.getFullYear();
  const offset = date.getTimezoneOffset();
  const offsets = offsetsOf(year);
  const dayMs = Date.UTC(year, date.getMonth(), date.getDate()) - Date.UTC(year, 0, 1);
  const isSummerTime = offsets[0] !== offsets[1] && offset === Math.min(...offsets);
  return [
    date.getSeconds(),
    date.getMinutes(),
    date.getHours(),
    date.getDate(),
    date.getMonth(),
    year - 1900,
    date.getDay(),
    dayMs / 86_400_000,
    Number(isSummerTime),
    -offset * 60,
  ];
}

/** Returns the minutes behind UTC in January and in July. */
function offsetsOf(year: number): readonly [number, number] {
  return [0, 6].map((month) => new Date(year, month, 1).getTimezoneOffset()) as [number, number];
}
