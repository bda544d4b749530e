// Tests the checks of the options of `followable`, and the codes with which connections are closed.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { FOLLOWER_CLOSE_CODES } from '../protocol/connection.ts';
import { checkOptions } from './options.ts';

class Room {
  add() {}
  fetch() {}
  get size() {
    return 0;
  }
}
class Hall extends Room {}
/** A class with every handler that the runtime may call. */
class Handling extends Room {
  alarm() {}
  connect() {}
  dup() {}
  webSocketMessage() {}
  webSocketClose() {}
  webSocketError() {}
}

const GOOD = { authorize: () => 'A', methods: ['add'], version: 1 };

test('[FOLS2] methods may be inherited, and limits have defaults', () => {
  const { methods, limits } = checkOptions(Hall, { ...GOOD, limits: { followers: 2 } });
  expect([...methods]).toEqual(['add']);
  const others = { followersPerIdentity: 100, clientsPerIdentity: 1000, messagesPerSecond: 1000 };
  expect(limits).toEqual({ followers: 2, ...others, objectBytes: 256 * 2 ** 20 });
});

test('[FOLS2] without limits, there are 1,000 followers, 100 of one identity, 1,000 messages a second and 256 MiB', () => {
  const authorize = () => 'A';
  expect(checkOptions(Room, { authorize, methods: [], version: 7 })).toEqual({
    authorize,
    methods: new Set(),
    version: 7,
    limits: {
      ...{ followers: 1000, followersPerIdentity: 100, clientsPerIdentity: 1000 },
      ...{ messagesPerSecond: 1000, objectBytes: 268_435_456 },
    },
  });
  const limits = {
    ...{ followers: 1, followersPerIdentity: 1, clientsPerIdentity: 1 },
    ...{ messagesPerSecond: 1, objectBytes: 1 },
  };
  expect(checkOptions(Room, { ...GOOD, limits }).limits).toEqual(limits);
});

test.each([
  [() => {}, GOOD, 'INVALID_ARGUMENT', /first argument is not a class.*Pass the class/],
  ['Room', GOOD, 'INVALID_ARGUMENT', /first argument is not a class/],
  [null, GOOD, 'INVALID_ARGUMENT', /first argument is not a class/],
  [{ prototype: Room.prototype }, GOOD, 'INVALID_ARGUMENT', /first argument is not a class/],
  [{}, GOOD, 'INVALID_ARGUMENT', /first argument is not a class/],
  [Room, null, 'INVALID_ARGUMENT', /takes \{ authorize, methods, version \}/],
  [Room, undefined, 'INVALID_ARGUMENT', /takes \{ authorize, methods, version \}/],
  [Room, 'options', 'INVALID_ARGUMENT', /takes \{ authorize/],
  [Room, { ...GOOD, other: 1 }, 'INVALID_ARGUMENT', /there is no option "other". Remove it/],
  [
    Room,
    { ...GOOD, authorize: 'A' },
    'INVALID_ARGUMENT',
    /authorize is not a function.*identity for each request/,
  ],
  [
    Room,
    { ...GOOD, methods: 'add' },
    'INVALID_ARGUMENT',
    /methods is not an array.*List the methods/,
  ],
  [Room, { ...GOOD, authorize: undefined }, 'INVALID_ARGUMENT', /authorize is not a function/],
  [Room, { ...GOOD, methods: undefined }, 'INVALID_ARGUMENT', /methods is not an array of names/],
  [Room, { ...GOOD, methods: ['add', 1] }, 'INVALID_ARGUMENT', /methods is not an array of names/],
  [Room, { ...GOOD, methods: ['size'] }, 'UNKNOWN_METHOD', /"size".*is not a method of it/],
  [Room, { ...GOOD, methods: ['toString'] }, 'UNKNOWN_METHOD', /"toString".*is not a method of it/],
  [
    Room,
    { ...GOOD, methods: ['add', 'ad'] },
    'UNKNOWN_METHOD',
    /\(Room\): "ad".*is not a method of it. List methods/,
  ],
  [Room, { ...GOOD, methods: ['fetch'] }, 'UNKNOWN_METHOD', /"fetch".*called by the runtime only/],
  [
    Room,
    { ...GOOD, version: 1.5 },
    'INVALID_ARGUMENT',
    /option version is not a whole number from 1/,
  ],
  [Room, { ...GOOD, version: undefined }, 'INVALID_ARGUMENT', /option version/],
  [Room, { ...GOOD, version: 0 }, 'INVALID_ARGUMENT', /option version/],
  [Room, { ...GOOD, version: '1' }, 'INVALID_ARGUMENT', /option version/],
  [Room, { ...GOOD, limits: null }, 'INVALID_ARGUMENT', /limits is not an object/],
  [Room, { ...GOOD, limits: 7 }, 'INVALID_ARGUMENT', /limits is not an object/],
  [Room, { ...GOOD, limits: { bytes: 1 } }, 'INVALID_ARGUMENT', /there is no limit "bytes"/],
  [Room, { ...GOOD, limits: { followers: 0.5 } }, 'INVALID_ARGUMENT', /limit followers is not/],
  [
    Room,
    { ...GOOD, limits: { messagesPerSecond: 0 } },
    'INVALID_ARGUMENT',
    /limit messagesPerSecond/,
  ],
  [
    Room,
    { ...GOOD, limits: { followersPerIdentity: 0 } },
    'INVALID_ARGUMENT',
    /limit followersPerIdentity/,
  ],
  [
    Room,
    { ...GOOD, origins: 'https://a.org' },
    'INVALID_ARGUMENT',
    /neither a list nor a function/,
  ],
  [Room, { ...GOOD, AsyncLocalStorage: {} }, 'INVALID_ARGUMENT', /class of node:async_hooks/],
  [Room, { ...GOOD, origins: [7] }, 'INVALID_ARGUMENT', /^followable\(\): 7 of origins is not an/],
  [Room, { ...GOOD, limits: { objectBytes: 0 } }, 'INVALID_ARGUMENT', /limit objectBytes/],
] as const)('[FOLS2] the definition %o with %o is %s: %s', (Class, options, code, text) => {
  expect(() => checkOptions(Class, options)).toThrow(
    expect.objectContaining({ code, message: expect.stringMatching(text) }),
  );
});

test.each([
  ...['alarm', 'connect', 'constructor', 'dup', 'fetch'],
  ...['webSocketMessage', 'webSocketClose', 'webSocketError'],
])('[FOLS2] followers may not call %s, though the class defines it', (name) => {
  expect(() => checkOptions(Handling, { ...GOOD, methods: [name] })).toThrow(
    expect.objectContaining({
      code: 'UNKNOWN_METHOD',
      message: expect.stringMatching(/runtime only/),
    }),
  );
});

test('[FOLS10] every reason to close has a code of its own, which the protocol lists', () => {
  const path = new URL('../../../docs/internals/follow-protocol.md', import.meta.url);
  const rows = readFileSync(path, 'utf8').matchAll(/^(4\d{3}[\d, ]*) \| ([^|]*) \|/gm);
  const listed = [...rows].flatMap(([, codes, names]) => {
    const each = names!.match(/[A-Z_]+/g)!;
    return codes!.split(', ').map((code, i) => [each[i], Number(code)] as const);
  });
  expect(Object.fromEntries(listed)).toEqual(FOLLOWER_CLOSE_CODES);
  expect(new Set(listed.map(([, code]) => code)).size).toBe(20);
});
