// The id of an object: 64 hexadecimal digits, derived from its name or random, for one namespace.
//
// Ids are derived as on workerd, so a class with the same unique key has the same ids there, and a
// database file keeps its name when it moves. The second half is a code over the first with the
// namespace's key, so that an id of another namespace is recognized.
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
  /** Null for an object of `openStorage`, which has no class. */
  readonly className: string | null;
  readonly id: DurableObjectId;
  /** Of a branch of this object, the way to it: the branch of the object, the branch of that one, and so on. */
  readonly branch?: readonly string[];
  /** Of a facet of this object, the way to it: a digest of each facet's name. */
  readonly facet?: readonly string[];
}

/** A name for the object that is safe on every file system, and unique in a host. */
export function addressKey({ className, id, branch = [], facet = [] }: ObjectAddress): string {
  const own = className === null ? id.toString() : `${className}.${id}`;
  return [[own, ...branch].join(BRANCH_MARK), ...facet].join('.');
}

/** Before the id of a branch, in keys. */
const BRANCH_MARK = '~';

/** The key of a branch of the object, or branch, with this key. */
export function branchKey(origin: string, id: string): string {
  return `${origin}${BRANCH_MARK}${id}`;
}

/** The address of a branch of an object, or of another branch. */
export function branchAddress(origin: ObjectAddress, id: string): ObjectAddress {
  return { ...origin, branch: [...(origin.branch ?? []), id] };
}

/** The object, or branch, that a branch was forked from, and its id there; null: it is not a branch. */
export function branchOrigin(address: ObjectAddress): { origin: ObjectAddress; id: string } | null {
  const { branch = [], ...root } = address;
  const id = branch.at(-1);
  if (id === undefined) return null;
  return { origin: branch.length === 1 ? root : { ...root, branch: branch.slice(0, -1) }, id };
}

/** True for the key of a facet, however deep, of the object or facet with the other key. */
export function isBelow(key: string, other: string): boolean {
  return key.startsWith(`${other}.`);
}

/** The address of a facet of an object, or of another facet. */
export function facetAddress(parent: ObjectAddress, name: string): ObjectAddress {
  const digest = bytesToHex(sha256(encodeText(name)).slice(0, HALF_BYTES));
  return { ...parent, facet: [...(parent.facet ?? []), digest] };
}

export class DurableObjectId {
  /**
   * The name it was derived from; undefined for other ids, and for names of more than 1,024 bytes.
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

  /** True for an id of the same object, whether or not both know its name. @throws INVALID_ARGUMENT */
  equals(other: DurableObjectId): boolean {
    if (typeof other === 'object' && other !== null && #hex in other) {
      return other.#hex === this.#hex;
    }
    // Begins with workerd's words.
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

  /** The same name always has the same id. @throws INVALID_ARGUMENT for a lone surrogate */
  fromName(name: string, jurisdiction?: string): DurableObjectId {
    const bytes = nameBytes(name);
    const base = hmac(sha256, this.#key, bytes).slice(0, HALF_BYTES);
    const kept = bytes.length <= OBJECT_NAME_BYTES_MAX ? name : undefined;
    return new DurableObjectId(this.#complete(base), kept, jurisdiction);
  }

  /** @throws INVALID_ARGUMENT when it is not 64 hexadecimal digits, or of another namespace */
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

/** The id of an object of `openStorage`. @throws INVALID_ARGUMENT for a lone surrogate */
export function idOfStorage(name: string): DurableObjectId {
  return new DurableObjectId(bytesToHex(sha256(nameBytes(name))), name);
}

/**
 * UTF-8 would replace every lone surrogate by U+FFFD, so different names would share one object.
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
