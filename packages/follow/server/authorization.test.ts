// Tests the check of what `authorize` returns.

import { expect, test } from 'vitest';
import { checkAuthorized, checkIdentity } from './authorization.ts';

const END_MS = Date.UTC(2030, 0, 1);

test('[FOLS3] an identity is a text of 1 to 256 units, without an end; null and false mean not authorized', () => {
  for (const identity of ['A', 'x'.repeat(256), '😀']) {
    expect(checkAuthorized(identity)).toEqual({ identity, expiresAtMs: null });
  }
  for (const given of [null, false]) expect(checkAuthorized(given)).toBeNull();
});

test.each([[true], [undefined], [''], ['x'.repeat(257)], [7], ['a\ud800'], ['\udc00']])(
  '[FOLS3] %o is not an identity, nor in an object',
  (given) => {
    const refused = expect.objectContaining({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/authorize\(\) has neither null nor an identity: a text of 1/),
    });
    expect(() => checkAuthorized(given)).toThrow(refused);
    expect(() => checkAuthorized({ identity: given, expiresAt: END_MS })).toThrow(refused);
    expect(() => checkIdentity('ctx.endFollowers()', given)).toThrow(/ctx\.endFollowers\(\) has/);
  },
);

test('[FOLS19] the end of an authorization is a Date or a number of milliseconds', () => {
  for (const expiresAt of [END_MS, new Date(END_MS)]) {
    expect(checkAuthorized({ identity: 'A', expiresAt })).toEqual({
      identity: 'A',
      expiresAtMs: END_MS,
    });
  }
});

test.each([
  [END_MS / 1000],
  [undefined],
  [null],
  [String(END_MS)],
  [new Date('soon')],
  [Number.NaN],
  [Infinity],
])('[FOLS19] %o is not an end', (expiresAt) => {
  expect(() => checkAuthorized({ identity: 'A', expiresAt })).toThrow(
    expect.objectContaining({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(
        /neither a Date nor milliseconds.*Multiply seconds.* by 1,000/,
      ),
    }),
  );
});

test('[FOLS19] another member, such as a misspelt one, is refused', () => {
  const given = { identity: 'A', expiresAt: END_MS, expires: 1 };
  expect(() => checkAuthorized(given)).toThrow(/gave a member "expires" beside identity/);
});
