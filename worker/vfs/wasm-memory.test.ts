import { beforeAll, describe, expect, test } from 'vitest';
import { loadSqliteInNode } from '../testing/sqlite.ts';
import { loadSqlite, type Sqlite } from './sqlite-module.ts';

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

describe('memory', () => {
  test('views follow a growth', () => {
    const { memory } = sqlite;
    const before = memory.u8;
    const pointer = memory.allocate(before.length);
    expect(before.length).toBe(0);
    expect(memory.u8.length).toBeGreaterThan(pointer);
    expect(memory.f64.buffer).toBe(memory.u8.buffer);
    memory.free(pointer);
  });

  test('more than there is, is an error with a code', () => {
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
