import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { loadSqliteInNode } from '../../../packages/testing/worker/sqlite.ts';
import { loadSqlite, type Sqlite } from './sqlite-module.ts';
import { WasmMemory } from './wasm-memory.ts';

let sqlite: Sqlite;

beforeAll(async () => {
  sqlite = await loadSqliteInNode();
});

describe('text', () => {
  test.each([
    ['empty', ''],
    ['short and plain', 'abc\0def'],
    ['short', 'aé😀\ufeff'],
    ['long and plain', 'x'.repeat(1000)],
    ['long', 'é😀'.repeat(10_000)],
  ])('%s is written as UTF-8 and read back', (_, text) => {
    const { memory } = sqlite;
    const sizeBytes = memory.writeScratch(text);
    const at = memory.scratch(0);
    expect(memory.u8.slice(at, at + sizeBytes)).toEqual(new TextEncoder().encode(text));
    expect(memory.u8[at + sizeBytes]).toBe(0);
    expect(memory.readText(at, sizeBytes)).toBe(text);
  });

  test('lone surrogates are three bytes each, pairs around them stay pairs', () => {
    const { memory } = sqlite;
    const sizeBytes = memory.writeScratch('a\udc00😀\ud800');
    const at = memory.scratch(0);
    expect(Buffer.from(memory.u8.slice(at, at + sizeBytes)).toString('hex')).toBe(
      '61edb080f09f9880eda080',
    );
  });
});

describe('the memory of the module', () => {
  test.each(['u8', 'i32', 'f64'] as const)('%s follows a growth', (view) => {
    const { memory } = sqlite;
    const before = memory[view];
    const pointer = memory.allocate(before.byteLength);
    expect(before.length).toBe(0);
    expect(memory[view].byteLength).toBeGreaterThan(pointer);
    memory.u8[pointer & ~7] = 7;
    expect(new Uint8Array(memory[view].buffer)[pointer & ~7]).toBe(7);
    memory.free(pointer);
  });

  test('a request for more than there is fails with SQL_MEMORY', () => {
    expect(() => sqlite.memory.allocate(0x7fff_ffff)).toThrow(
      expect.objectContaining({ code: 'SQL_MEMORY' }),
    );
  });

  test('scratch memory stays where it is until it must grow', () => {
    const { memory } = sqlite;
    const small = memory.scratch(10);
    expect(memory.scratch(100)).toBe(small);
    const large = memory.scratch(3_000_000);
    expect(memory.scratch(0)).toBe(large);
  });
});

test('a module is loaded once, whoever asks', async () => {
  expect(await loadSqliteInNode()).toBe(sqlite);
  expect(await loadSqlite(new Uint8Array([1, 2, 3]))).toBe(sqlite);
});

describe('scratch memory', () => {
  const KB = 1024;
  /** Sizes of allocated blocks, by address. */
  let allocated: Map<number, number>;
  let memory: WasmMemory;

  beforeEach(() => {
    allocated = new Map();
    let next = 8;
    memory = new WasmMemory(new WebAssembly.Memory({ initial: 100 }), {
      malloc(sizeBytes) {
        const pointer = next;
        next += sizeBytes;
        if (next > 100 * 64 * KB) return 0;
        allocated.set(pointer, sizeBytes);
        return pointer;
      },
      free: (pointer) => void allocated.delete(pointer),
    });
  });
  const sizes = () => [...allocated.values()];

  test('scratch memory is 64 KB, or as large as the request', () => {
    const first = memory.scratch(1);
    expect(sizes()).toEqual([64 * KB]);
    expect(memory.scratch(64 * KB)).toBe(first);
    memory.scratch(64 * KB + 1);
    expect(sizes()).toEqual([64 * KB + 1]);
  });

  test('allocated memory is freed on request', () => {
    const pointer = memory.allocate(10);
    expect(sizes()).toEqual([10]);
    memory.free(pointer);
    expect(sizes()).toEqual([]);
  });

  test('scratch memory of more than 1 MB is not kept for the next value', () => {
    memory.scratch(KB * KB + 1);
    expect(memory.scratch(0)).toBe([...allocated.keys()][0]);
    expect(sizes()).toEqual([KB * KB + 1]);
    memory.scratch(10);
    expect(sizes()).toEqual([64 * KB]);
    memory.scratch(KB * KB);
    memory.scratch(10);
    expect(sizes()).toEqual([KB * KB]);
  });

  test('scratch memory stays as it was when memory is exhausted', () => {
    const before = memory.scratch(10);
    expect(() => memory.scratch(2 ** 30)).toThrow(
      expect.objectContaining({
        code: 'SQL_MEMORY',
        message: 'No memory for 1073741824 bytes in SQLite: SQLITE_NOMEM',
      }),
    );
    expect(memory.scratch(0)).toBe(before);
    expect(memory.scratch(10)).toBe(before);
  });

  test('scratch memory for a text of 16 K units is as large as its bytes, for a shorter one as they can be', () => {
    memory.writeScratch('x'.repeat(200 * KB));
    expect(sizes()).toEqual([200 * KB + 1]);
    const units = 16 * KB - 1;
    const other = new WasmMemory(new WebAssembly.Memory({ initial: 100 }), {
      malloc: (sizeBytes) => {
        allocated.set(8, sizeBytes);
        return 8;
      },
      free() {},
    });
    other.scratch(1);
    other.writeScratch('€'.repeat(units));
    expect(allocated.get(8)).toBe(64 * KB);
    expect(other.readText(8, 3 * units)).toBe('€'.repeat(units));
  });
});

describe('text at every length', () => {
  const units = [0, 1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 66, 200];
  /** Neighbours differ, so that a letter in the place of another is seen. */
  const lettersOf = (length: number) =>
    Array.from({ length }, (_, i) => String.fromCharCode(97 + (i % 26))).join('');

  test.each(units)(
    'a text of %i units is written and read back, with one odd letter anywhere',
    (length) => {
      const { memory } = sqlite;
      const letters = lettersOf(length);
      for (const odd of ['', 'Z', '\x7f', '\x80', 'é', '\ufeff']) {
        for (let place = 0; place <= length; place++) {
          const text = letters.slice(0, place) + odd + letters.slice(place);
          const sizeBytes = memory.writeScratch(text);
          const at = memory.scratch(0);
          expect(sizeBytes).toBe(new TextEncoder().encode(text).length);
          expect(memory.readText(at, sizeBytes)).toBe(text);
          expect(memory.readCString(at)).toBe(text);
        }
      }
    },
  );

  test.each(units)('one of %i bytes that is not UTF-8 is read as U+FFFD', (length) => {
    const { memory } = sqlite;
    for (let place = 0; place < length; place++) {
      const sizeBytes = memory.writeScratch(lettersOf(length));
      const at = memory.scratch(0);
      memory.u8[at + place] = 0xff;
      const letters = [...lettersOf(length)];
      letters[place] = '\ufffd';
      expect(memory.readText(at, sizeBytes)).toBe(letters.join(''));
      expect(memory.readCString(at)).toBe(letters.join(''));
    }
  });

  test('a null pointer is the empty text', () => {
    expect(sqlite.memory.readCString(0)).toBe('');
  });
});
