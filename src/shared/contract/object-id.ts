// Makes ids of objects: 64 hexadecimal digits, derived from a name or random, for one namespace.
//
// Ids are derived as on workerd, so a class with the same unique key has the same ids there, and a
// database file keeps its name when it moves. The second half authenticates the first half with the namespace's key, so
// that an id of another namespace is recognized.
//
// Invariant: everything here is synchronous, as `idFromName` must be; page and worker get the same
// ids.

import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { storageError } from './errors.ts';
import { OBJECT_NAME_BYTES_MAX } from './limits.ts';
import { encodeText } from './utf8.ts';

const HALF_BYTES = 16;

/** Identifies an object of a host. */
export interface ObjectAddress {
  /** The class; null for an object of `openStorage`. */
  readonly className: string | null;
  readonly id: DurableObjectId;
  /** The ids that lead to a branch: the branch of the object, the branch of that branch, and so on. */
  readonly branch?: readonly string[];
  /** The digests of the facets' names that lead to a facet. */
  readonly facet?: readonly string[];
  /**
   * The digest of the identity to which a copy belongs. Present only if each identity has its own copy of the object.
   */
  readonly copy?: string;
}

/** Makes a key for the object that is a valid name on every file system, and unique in a host. */
export function addressKey({
  className,
  id,
  branch = [],
  facet = [],
  copy,
}: ObjectAddress): string {
  const object = className === null ? id.toString() : `${className}.${id}`;
  const own = copy === undefined ? object : `${object}${COPY_MARK}${copy}`;
  return [[own, ...branch].join(BRANCH_MARK), ...facet].join('.');
}

/** Precedes the digest of an identity in keys. */
export const COPY_MARK = '@';

/** Precedes the id of a branch in keys. */
const BRANCH_MARK = '~';

/** Makes the key of a branch of the object or branch with the key `origin`. */
export function branchKey(origin: string, id: string): string {
  return `${origin}${BRANCH_MARK}${id}`;
}

/** Makes the address of a branch of an object or of another branch. */
export function branchAddress(origin: ObjectAddress, id: string): ObjectAddress {
  return { ...origin, branch: [...(origin.branch ?? []), id] };
}

/** Returns the object or branch that a branch was forked from, and the branch's id there; null if it is not a branch. */
export function branchOrigin(address: ObjectAddress): { origin: ObjectAddress; id: string } | null {
  const { branch = [], ...root } = address;
  const id = branch.at(-1);
  if (id === undefined) return null;
  return { origin: branch.length === 1 ? root : { ...root, branch: branch.slice(0, -1) }, id };
}

/** Returns true if `key` is that of a facet, however deep, of the object or facet with the other key. */
export function isBelow(key: string, other: string): boolean {
  return key.startsWith(`${other}.`);
}

/** Makes the address of a facet of an object or of another facet. */
export function facetAddress(parent: ObjectAddress, name: string): ObjectAddress {
  const digest = bytesToHex(sha256(encodeText(name)).slice(0, HALF_BYTES));
  return { ...parent, facet: [...(parent.facet ?? []), digest] };
}

export class DurableObjectId {
  /**
   * The name that the id was derived from; undefined for other ids, and for names of more than 1,024 bytes.
   */
  declare readonly name?: string;
  declare readonly jurisdiction?: string;
  readonly #hex: string;

  constructor(hex: string, name?: string, jurisdiction?: string) {
    this.#hex = hex;
    if (name !== undefined) define(this, 'name', name);
    if (jurisdiction !== undefined) define(this, 'jurisdiction', jurisdiction);
  }

  toString(): string {
    return this.#hex;
  }

  /** Returns true for an id of the same object, even if only one of them knows its name. @throws INVALID_ARGUMENT */
  equals(other: DurableObjectId): boolean {
    if (typeof other === 'object' && other !== null && #hex in other) {
      return other.#hex === this.#hex;
    }
    // The message begins as in workerd.
    throw storageError(
      'INVALID_ARGUMENT',
      "Failed to execute 'equals' on 'DurableObjectId': parameter 1 is not of type 'DurableObjectId'. Make one of a " +
        'text with idFromString().',
    );
  }

  get [Symbol.toStringTag](): string {
    return 'DurableObjectId';
  }
}

/** Makes the ids of one namespace. */
export class ObjectIdFactory {
  readonly #key: Uint8Array;
  readonly #randomBytes: (count: number) => Uint8Array;

  constructor(uniqueKey: string, randomBytes = secureRandomBytes) {
    this.#key = sha256(utf8ToBytes(uniqueKey));
    this.#randomBytes = randomBytes;
  }

  /** Derives the id of a name. The same name always has the same id. @throws INVALID_ARGUMENT for a lone surrogate */
  fromName(name: string, jurisdiction?: string): DurableObjectId {
    const bytes = nameBytes(name);
    const base = hmac(sha256, this.#key, bytes).slice(0, HALF_BYTES);
    const kept = bytes.length <= OBJECT_NAME_BYTES_MAX ? name : undefined;
    return new DurableObjectId(this.#complete(base), kept, jurisdiction);
  }

  /**
   * Returns the id with these digits.
   *
   * @throws INVALID_ARGUMENT if `hex` is not 64 hexadecimal digits, or belongs to another namespace
   */
  fromString(hex: string): DurableObjectId {
    if (!/^[0-9a-f]{64}$/i.test(hex)) {
      throw storageError(
        'INVALID_ARGUMENT',
        `Invalid Durable Object ID: must be 64 hex digits, not ${JSON.stringify(hex.slice(0, 80))}.`,
      );
    }
    const lower = hex.toLowerCase();
    if (this.#complete(hexToBytes(lower).slice(0, HALF_BYTES)) !== lower) {
      throw storageError(
        'INVALID_ARGUMENT',
        'Durable Object ID is not valid for this namespace; it was made by another class.',
      );
    }
    return new DurableObjectId(lower);
  }

  newUnique(jurisdiction?: string): DurableObjectId {
    const hex = this.#complete(this.#randomBytes(HALF_BYTES));
    return new DurableObjectId(hex, undefined, jurisdiction);
  }

  #complete(base: Uint8Array): string {
    const code = hmac(sha256, this.#key, base).slice(0, HALF_BYTES);
    return bytesToHex(concatBytes(base, code));
  }
}

/** Derives the id of an object of `openStorage`. @throws INVALID_ARGUMENT for a lone surrogate */
export function idOfStorage(name: string): DurableObjectId {
  return new DurableObjectId(bytesToHex(sha256(nameBytes(name))), name);
}

/**
 * Encodes a name. Lone surrogates are refused: UTF-8 replaces each by U+FFFD, so different names would share one object.
 */
function nameBytes(name: string): Uint8Array {
  if (name.isWellFormed()) return utf8ToBytes(name);
  throw storageError(
    'INVALID_ARGUMENT',
    `The object name ${JSON.stringify(name.slice(0, 80))} holds a surrogate without its partner, ` +
      'which has no form in UTF-8; encode such a name first, for example as hexadecimal digits.',
  );
}

function secureRandomBytes(count: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(count));
}

function define(target: object, name: string, value: string): void {
  Object.defineProperty(target, name, { value, enumerable: true });
}
