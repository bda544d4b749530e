// The digests of an object: MD5 always, and the one that the caller named, which it must equal.

import { md5, sha1 } from '@noble/hashes/legacy.js';
import { sha256, sha384, sha512 } from '@noble/hashes/sha2.js';
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';

export const ALGORITHMS = {
  md5: { name: 'MD5', bytes: 16, create: () => md5.create() },
  sha1: { name: 'SHA-1', bytes: 20, create: () => sha1.create() },
  sha256: { name: 'SHA-256', bytes: 32, create: () => sha256.create() },
  sha384: { name: 'SHA-384', bytes: 48, create: () => sha384.create() },
  sha512: { name: 'SHA-512', bytes: 64, create: () => sha512.create() },
} as const;

export type Algorithm = keyof typeof ALGORITHMS;

/** Hexadecimal, by algorithm. */
export type Checksums = Readonly<Partial<Record<Algorithm, string>>>;

/** Takes the bytes piece by piece. */
export class Digests {
  readonly #running: Map<Algorithm, ReturnType<(typeof ALGORITHMS)[Algorithm]['create']>>;

  constructor(wanted: Checksums) {
    const names = new Set<Algorithm>(['md5', ...(Object.keys(wanted) as Algorithm[])]);
    this.#running = new Map([...names].map((name) => [name, ALGORITHMS[name].create()]));
  }

  update(bytes: Uint8Array): void {
    for (const digest of this.#running.values()) digest.update(bytes);
  }

  end(): Checksums {
    return Object.fromEntries(
      [...this.#running].map(([name, digest]) => [name, bytesToHex(digest.digest())]),
    );
  }
}

/** The ETag of an object of several parts. */
export function etagOfParts(md5OfParts: readonly string[]): string {
  const digest = md5.create();
  for (const part of md5OfParts) digest.update(hexToBytes(part));
  return `${bytesToHex(digest.digest())}-${md5OfParts.length}`;
}
