import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { FOLLOWER_CLOSE_CODES } from '../protocol/connection.ts';
import { checkIdentity, checkOptions } from './options.ts';

class Room {
  add() {}
  fetch() {}
  get size() {
    return 0;
  }
}
class Hall extends Room {}

const GOOD = { authorize: () => 'A', methods: ['add'], version: 1 };

test('[FOLS2] methods may be inherited, and limits have defaults', () => {
  const { methods, limits } = checkOptions(Hall, { ...GOOD, limits: { followers: 2 } });
  expect([...methods]).toEqual(['add']);
  expect(limits).toEqual({ followers: 2, messagesPerSecond: 1000, objectBytes: 256 * 2 ** 20 });
});

test.each([
  ['no class', {}, GOOD, 'INVALID_ARGUMENT'],
  ['no options', Room, undefined, 'INVALID_ARGUMENT'],
  ['no authorize', Room, { ...GOOD, authorize: undefined }, 'INVALID_ARGUMENT'],
  ['no methods', Room, { ...GOOD, methods: undefined }, 'INVALID_ARGUMENT'],
  ['no version', Room, { ...GOOD, version: undefined }, 'INVALID_ARGUMENT'],
  ['version 0', Room, { ...GOOD, version: 0 }, 'INVALID_ARGUMENT'],
  ['another option', Room, { ...GOOD, method: [] }, 'INVALID_ARGUMENT'],
  ['another limit', Room, { ...GOOD, limits: { bytes: 1 } }, 'INVALID_ARGUMENT'],
  ['a limit of 0', Room, { ...GOOD, limits: { followers: 0 } }, 'INVALID_ARGUMENT'],
  ['limits null', Room, { ...GOOD, limits: null }, 'INVALID_ARGUMENT'],
  ['a name with a typo', Room, { ...GOOD, methods: ['ad'] }, 'UNKNOWN_METHOD'],
  ['a getter', Room, { ...GOOD, methods: ['size'] }, 'UNKNOWN_METHOD'],
  ['a handler', Room, { ...GOOD, methods: ['fetch'] }, 'UNKNOWN_METHOD'],
  ['the constructor', Room, { ...GOOD, methods: ['constructor'] }, 'UNKNOWN_METHOD'],
  ['a method of every object', Room, { ...GOOD, methods: ['toString'] }, 'UNKNOWN_METHOD'],
])('[FOLS2] %s is an error at the definition', (_, Class, options, code) => {
  expect(() => checkOptions(Class, options)).toThrow(expect.objectContaining({ code }));
});

test.each([[true], [undefined], [''], ['x'.repeat(257)], [7]])(
  '[FOLS3] an identity is no %o',
  (given) => {
    expect(() => checkIdentity(given)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  },
);

test('[FOLS10] every reason to close has a code of its own, which the protocol lists', () => {
  const path = new URL('../../../docs/internals/follow-protocol.md', import.meta.url);
  const rows = readFileSync(path, 'utf8').matchAll(/^(4\d{3}[\d, ]*) \| ([^|]*) \|/gm);
  const listed = [...rows].flatMap(([, codes, names]) => {
    const each = names!.match(/[A-Z_]+/g)!;
    return codes!.split(', ').map((code, i) => [each[i], Number(code)] as const);
  });
  expect(Object.fromEntries(listed)).toEqual(FOLLOWER_CLOSE_CODES);
});
