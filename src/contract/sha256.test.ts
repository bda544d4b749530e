import { createHash, createHmac, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { hmacSha256, sha256 } from './sha256.ts';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

test('[ID1] digests are those of the platform, at every length about the ends of blocks', () => {
  for (let length = 0; length < 200; length++) {
    const bytes = randomBytes(length);
    expect(hex(sha256(bytes))).toBe(createHash('sha256').update(bytes).digest('hex'));
    const key = randomBytes(length % 65);
    const code = createHmac('sha256', key).update(bytes).digest('hex');
    expect(hex(hmacSha256(key, bytes))).toBe(code);
  }
});

test('[ID1] parts are digested as one', () => {
  const bytes = randomBytes(1000);
  expect(hex(sha256(bytes.subarray(0, 63), bytes.subarray(63)))).toBe(hex(sha256(bytes)));
});
