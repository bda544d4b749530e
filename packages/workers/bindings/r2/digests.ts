// Computes the digests of an object while its bytes arrive: always MD5, and the digest that the caller expects.

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

/** Digests as hexadecimal text, by algorithm. */
export type Checksums = Readonly<Partial<Record<Algorithm, string>>>;

/** Computes several digests of the same bytes, which arrive in pieces. */
export class Digests {
  readonly #digests: Map<Algorithm, ReturnType<(typeof ALGORITHMS)[Algorithm]['create']>>;

  constructor(expectedDigests: Checksums) {
    const names = new Set<Algorithm>(['md5', ...(Object.keys(expectedDigests) as Algorithm[])]);
    this.#digests = new Map([...names].map((name) => [name, ALGORITHMS[name].create()]));
  }

  update(bytes: Uint8Array): void {
    for (const digest of this.#digests.values()) digest.update(bytes);
  }

  end(): Checksums {
    return Object.fromEntries(
      [...this.#digests].map(([name, digest]) => [name, bytesToHex(digest.digest())]),
    );
  }
}

/** Computes the ETag of an object that was uploaded in parts, from the MD5 digests of the parts. */
export function etagOfParts(md5OfParts: readonly string[]): string {
  const digest = md5.create();
  for (const part of md5OfParts) digest.update(hexToBytes(part));
  return `${bytesToHex(digest.digest())}-${md5OfParts.length}`;
}
