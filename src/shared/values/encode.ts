// Serializes a value in the wire format (wire.ts). Accepts the types of structured clone.
//
// Invariant: objects are numbered in the order they begin; a getter runs once; after an exception of a
// getter the next call starts from a clean state. A getter may itself serialize.
//
// Differences from V8 that no reader notices: a string is written with one byte a character whenever
// possible, and an array without holes is always written dense. V8 decides both by its internal
// representation, which JavaScript cannot see.

import { storageError } from '../contract/errors.ts';
import { ByteWriter } from './byte-writer.ts';
import { writeError } from './error-codec.ts';
import {
  writeBlob,
  writeDomException,
  writeHeaders,
  writeRequest,
  writeResponse,
} from './host-codec.ts';
import { isNodeBuffer } from './node-buffer.ts';
import {
  assertPlain,
  classNameOf,
  dataCloneError,
  kindInDisguise,
  kindOf,
  notSerializable,
  type ObjectKind,
  platformObjectError,
} from './object-kind.ts';
import * as slots from './slots.ts';
import type { ValueWriter } from './value-streams.ts';
import { viewBuffer, viewByteLength, viewLayout } from './view-layout.ts';
import {
  HEADER,
  HOST_TAG,
  NESTING_DEPTH_MAX,
  REGEXP_FLAGS,
  TAG,
  UnicodeSources,
  VIEW_FLAG,
  WIRE_VERSION,
} from './wire.ts';

/**
 * Serializes a value for storage, into a new array.
 *
 * Accepts the types of structured clone; class instances become plain objects, and errors keep their own
 * properties. Exceptions of getters propagate unchanged.
 *
 * @throws DOMException `DataCloneError` for values that cannot be stored: functions, symbols, promises,
 * weak collections, generators, detached and shared buffers, platform objects, blobs on a page
 * @throws RangeError for objects nested deeper than `NESTING_DEPTH_MAX`
 * @throws VALUE_TOO_LARGE for a bigint, or expressions in Unicode mode, that would not be read again
 */
export function serialize(value: unknown): Uint8Array<ArrayBuffer> {
  return serializeWith(value, undefined);
}

/**
 * Serializes a message. Unlike in `serialize`, things that `describe` knows are passed by reference, and instances of
 * unknown classes are refused instead of losing their class.
 */
export function serializeWith(
  value: unknown,
  describe: DescribeReference | undefined,
): Uint8Array<ArrayBuffer> {
  const encoder = idle ?? new Encoder();
  idle = undefined;
  try {
    return encoder.encode(value, describe);
  } finally {
    encoder.clear();
    idle = encoder;
  }
}

/**
 * Returns the plain data to send in place of a function or object; undefined if the function does not know the object.
 */
export type DescribeReference = (value: object) => Readonly<Record<string, unknown>> | undefined;

/** Up to this number, objects are kept in a list, which is faster than a map and allocates nothing. */
const LIST_MAX = 8;

/** Gives each object a number, by which later references name it. */
export class ObjectNumbers {
  readonly #list: object[] = [];
  #map: Map<object, number> | undefined;

  has(object: object): boolean {
    return this.#map ? this.#map.has(object) : this.#list.includes(object);
  }

  /** Returns the number of the object; undefined if it had none, in which case it gets the next one. */
  claim(object: object): number | undefined {
    const map = this.#map;
    if (map) {
      const number = map.get(object);
      if (number === undefined) map.set(object, map.size);
      return number;
    }
    const list = this.#list;
    for (let i = 0; i < list.length; i++) if (list[i] === object) return i;
    list.push(object);
    if (list.length > LIST_MAX) this.#map = new Map(list.map((known, number) => [known, number]));
    return undefined;
  }

  clear(): void {
    this.#list.length = 0;
    this.#map = undefined;
  }
}

class Encoder implements ValueWriter {
  readonly out = new ByteWriter();
  readonly #numbers = new ObjectNumbers();
  #unicodeSources: UnicodeSources | undefined;
  /** Objects without properties. They are treated as plain objects, and checked together at the end. */
  #empty: object[] = [];
  #depth = 0;
  #describe: DescribeReference | undefined;

  encode(value: unknown, describe: DescribeReference | undefined): Uint8Array<ArrayBuffer> {
    this.#describe = describe;
    this.out.byte(HEADER);
    this.out.byte(WIRE_VERSION);
    this.writeValue(value);
    if (this.#empty.length > 0) assertPlain(this.#empty);
    return this.out.take();
  }

  clear(): void {
    this.out.clear();
    this.#numbers.clear();
    this.#unicodeSources = undefined;
    if (this.#empty.length > 0) this.#empty = [];
    this.#depth = 0;
    this.#describe = undefined;
  }

  writeValue(value: unknown): void {
    switch (typeof value) {
      case 'string':
        this.out.string(value);
        break;
      case 'number':
        this.out.number(value);
        break;
      case 'boolean':
        this.out.byte(value ? TAG.true : TAG.false);
        break;
      case 'undefined':
        this.out.byte(TAG.undefined);
        break;
      case 'bigint':
        this.out.byte(TAG.bigint);
        this.out.bigint(value);
        break;
      case 'object':
        if (value === null) this.out.byte(TAG.null);
        else this.#writeObject(value);
        break;
      case 'function':
        if (this.#describe === undefined || !this.#writeReference(value)) {
          throw dataCloneError(value);
        }
        break;
      default:
        throw dataCloneError(value);
    }
  }

  writeProperties(entries: readonly (readonly [name: string, value: unknown])[]): void {
    this.#enter();
    this.#numbers.claim({});
    this.out.byte(TAG.object);
    for (const [name, value] of entries) {
      this.out.string(name);
      this.writeValue(value);
    }
    this.#depth--;
    this.out.byte(TAG.objectEnd);
    this.out.varint(entries.length);
  }

  #writeObject(value: object): void {
    this.#enter();
    if (isArray(value)) {
      if (this.#begin(value)) this.#writeArray(value);
    } else {
      const prototype = Object.getPrototypeOf(value);
      if (prototype === Object.prototype) {
        if (this.#begin(value)) this.#writePlain(value);
      } else {
        const kind = kindOf(value, prototype);
        if (this.#describe !== undefined && BY_REFERENCE.has(kind)) {
          if (this.#writeReference(value)) {
            this.#depth--;
            return;
          }
          if (kind === 'plain') {
            throw notSerializable(
              classNameOf(value),
              'Pass a plain object, or extend RpcTarget to pass it by reference.',
            );
          }
        }
        // Few stack frames are used per level, because the stack limits the nesting.
        if (kind === 'plain') {
          if (this.#begin(value)) this.#writePlain(value);
        } else if (kind === 'map') {
          if (this.#begin(value)) this.#writeItems(TAG.map, slots.mapEntries(value), TAG.mapEnd);
        } else if (kind === 'set') {
          if (this.#begin(value)) this.#writeItems(TAG.set, slots.setValues(value), TAG.setEnd);
        } else if (kind === 'view') {
          this.#writeView(value as ArrayBufferView);
        } else if (this.#begin(value)) {
          this.#writeContent(value, kind);
        }
      }
    }
    this.#depth--;
  }

  /** Writes the description of a thing passed by reference. Returns false if `describe` does not know it. */
  #writeReference(value: object): boolean {
    if (this.#numbers.has(value)) return !this.#begin(value);
    const description = this.#describe!(value);
    if (description === undefined) return false;
    this.#begin(value);
    this.out.byte(TAG.host);
    this.out.varint(HOST_TAG.reference);
    this.writeProperties(Object.entries(description));
    return true;
  }

  #enter(): void {
    if (++this.#depth > NESTING_DEPTH_MAX) {
      throw new RangeError(
        `Maximum call stack size exceeded: the objects of the value are nested more than ${NESTING_DEPTH_MAX} levels deep.`,
      );
    }
  }

  /** Gives the object its number. If the object already has a number, writes a reference and returns false. */
  #begin(value: object): boolean {
    const number = this.#numbers.claim(value);
    if (number === undefined) return true;
    this.out.byte(TAG.reference);
    this.out.varint(number);
    return false;
  }

  #writePlain(value: object): void {
    const keys = Object.keys(value);
    const first = keys[0];
    if (first === undefined || isDigit(first.charCodeAt(0))) {
      const kind = kindInDisguise(value);
      if (kind !== 'plain') {
        this.#writeContent(value, kind);
        return;
      }
      if (first === undefined) this.#empty.push(value);
    }
    this.out.byte(TAG.object);
    const count = this.#writeMembers(value, keys, 0);
    this.out.byte(TAG.objectEnd);
    this.out.varint(count);
  }

  /** Writes the properties with these keys, beginning at index `from`, and returns how many still existed. */
  #writeMembers(value: object, keys: readonly string[], from: number): number {
    const { out } = this;
    const record = value as Readonly<Record<string, unknown>>;
    let count = 0;
    // Array indices come first, so the first other key ends them.
    let indices = true;
    for (let i = from; i < keys.length; i++) {
      const key = keys[i]!;
      const member = record[key];
      // A getter of an earlier property may have deleted this one.
      if (member === undefined && !Object.hasOwn(value, key)) continue;
      if (indices && (indices = isArrayIndex(key))) out.number(Number(key));
      else out.string(key);
      // writeValue is not called, because it would need another stack frame per level.
      if (typeof member === 'object' && member !== null) this.#writeObject(member);
      else this.writeValue(member);
      count++;
    }
    return count;
  }

  #writeArray(array: readonly unknown[]): void {
    const { out } = this;
    const { length } = array;
    const keys = Object.keys(array);
    if (length === 0 && keys.length === 0) this.#empty.push(array);
    // If the array has no holes, its first keys are its indices.
    if (length === 0 || keys[length - 1] === String(length - 1)) {
      out.byte(TAG.denseArray);
      out.varint(length);
      for (let i = 0; i < length; i++) {
        const element = array[i];
        // A getter of an earlier element may have shortened the array.
        if (element === undefined && !Object.hasOwn(array, i)) out.byte(TAG.hole);
        else if (typeof element === 'object' && element !== null) this.#writeObject(element);
        else this.writeValue(element);
      }
      const count = this.#writeMembers(array, keys, length);
      out.byte(TAG.denseArrayEnd);
      out.varint(count);
    } else {
      out.byte(TAG.sparseArray);
      out.varint(length);
      const count = this.#writeMembers(array, keys, 0);
      out.byte(TAG.sparseArrayEnd);
      out.varint(count);
    }
    out.varint(length);
  }

  /** Writes an object of a kind that seldom contains others. The object already has its number. */
  #writeContent(value: object, kind: ObjectKind): void {
    const { out } = this;
    switch (kind) {
      case 'date':
        out.byte(TAG.date);
        out.double(slots.dateTime(value));
        break;
      case 'regExp':
        this.#writeRegExp(value);
        break;
      case 'number':
        out.byte(TAG.numberObject);
        out.double(slots.numberValue(value));
        break;
      case 'string':
        out.byte(TAG.stringObject);
        out.string(slots.stringValue(value));
        break;
      case 'boolean':
        out.byte(slots.booleanValue(value) ? TAG.trueObject : TAG.falseObject);
        break;
      case 'bigint':
        out.byte(TAG.bigintObject);
        out.bigint(slots.bigintValue(value));
        break;
      case 'buffer':
        this.#writeBuffer(value as ArrayBuffer);
        break;
      case 'error':
        writeError(value as Error, this);
        break;
      case 'domException':
        writeDomException(value as DOMException, this);
        break;
      case 'headers':
        writeHeaders(value as Headers, this);
        break;
      case 'request':
        writeRequest(value as Request, this);
        break;
      case 'response':
        writeResponse(value as Response, this);
        break;
      case 'blob':
        writeBlob(value as Blob, this);
        break;
      default:
        throw platformObjectError(value);
    }
  }

  #writeItems(begin: number, items: readonly unknown[], end: number): void {
    this.out.byte(begin);
    for (const item of items) {
      if (typeof item === 'object' && item !== null) this.#writeObject(item);
      else this.writeValue(item);
    }
    this.out.byte(end);
    this.out.varint(items.length);
  }

  #writeRegExp(value: object): void {
    const flags = slots.regExpFlagsOf(value)!;
    const source = slots.regExpSource(value);
    this.#unicodeSources ??= new UnicodeSources();
    const tooLong = this.#unicodeSources.add(source, flags);
    if (tooLong !== undefined) {
      throw storageError('VALUE_TOO_LARGE', `The value cannot be stored: ${tooLong}.`);
    }
    let bits = 0;
    for (const [flag, bit] of REGEXP_FLAGS) if (flags.includes(flag)) bits |= bit;
    this.out.byte(TAG.regExp);
    this.out.string(source);
    this.out.varint(bits);
  }

  #writeBuffer(buffer: ArrayBuffer): void {
    const bytes = bytesOf(buffer);
    if (slots.bufferResizable(buffer)) {
      this.out.byte(TAG.resizableArrayBuffer);
      this.out.varint(bytes.length);
      this.out.varint(slots.bufferMaxByteLength(buffer)!);
    } else {
      this.out.byte(TAG.arrayBuffer);
      this.out.varint(bytes.length);
    }
    this.out.raw(bytes);
  }

  #writeView(view: ArrayBufferView): void {
    let written = view;
    if (!this.#numbers.has(view)) {
      let buffer = viewBuffer(view);
      if (kindOf(buffer, Object.getPrototypeOf(buffer)) !== 'buffer') throw dataCloneError(view);
      // All Buffers of a process share a pool, so only the Buffer's own part of it is written.
      if (isNodeBuffer(view) && viewByteLength(view) < slots.bufferByteLength(buffer)) {
        written = new Uint8Array(view as Uint8Array);
        buffer = viewBuffer(written);
      }
      if (this.#begin(buffer)) this.#writeBuffer(buffer as ArrayBuffer);
    }
    if (!this.#begin(view)) return;
    const layout = viewLayout(written);
    if (layout === undefined) throw dataCloneError(view, 'lies outside its buffer.');
    this.out.byte(TAG.view);
    this.out.byte(layout.tag);
    this.out.varint(layout.byteOffset);
    this.out.varint(layout.lengthTracking ? 0 : layout.byteLength);
    this.out.varint(
      (layout.lengthTracking ? VIEW_FLAG.lengthTracking : 0) |
        (layout.resizable ? VIEW_FLAG.resizableBuffer : 0),
    );
  }
}

/** The kinds of objects that may be passed by reference. */
const BY_REFERENCE: ReadonlySet<ObjectKind> = new Set<ObjectKind>([
  'plain',
  'refused',
  'request',
  'response',
]);

/** An encoder that the next call reuses. A nested call, made by a getter, gets a new one. */
let idle: Encoder | undefined = new Encoder();

/** Returns the bytes of the buffer. @throws DataCloneError for a detached buffer */
function bytesOf(buffer: ArrayBuffer): Uint8Array {
  try {
    return new Uint8Array(buffer);
  } catch {
    throw dataCloneError(buffer, 'is detached and could not be cloned.');
  }
}

function isDigit(unit: number): boolean {
  return unit >= 48 && unit <= 57;
}

function isArrayIndex(key: string): boolean {
  if (key.length > 10 || !isDigit(key.charCodeAt(0))) return false;
  const number = Number(key);
  return Number.isInteger(number) && number < 2 ** 32 - 1 && String(number) === key;
}

/** Returns true for an array. @throws DataCloneError for a revoked proxy, which cannot be used otherwise either */
export function isArray(value: object): value is unknown[] {
  try {
    return Array.isArray(value);
  } catch {
    throw dataCloneError(value);
  }
}
