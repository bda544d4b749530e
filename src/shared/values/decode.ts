// Deserializes a value: versions 13, 14 and 15 of the wire format (wire.ts), and values without a header as version 13.
//
// Invariant: any bytes give a value or a CORRUPT error. The time and memory grow with the number of bytes, not with the
// lengths that the bytes claim. The value shares no memory with the given array.
//
// V8 hashes numbers and bigints without a seed, so the keys of a Map can be chosen to collide, and the time to read them
// grows with the square of their number. Errors and platform objects take up to 30 µs each, for a few bytes. So large
// values may have a limited number of both.

import { isStorageError } from '../contract/errors.ts';
import { READ_ELEMENTS_MAX, VALUE_BYTES_MAX, VALUE_FRAME_BYTES_MAX } from '../contract/limits.ts';
import { ByteReader, corruptValueError } from './byte-reader.ts';
import { readHostError, readPlainError } from './error-codec.ts';
import { readHostObject } from './host-codec.ts';
import { bufferResizable } from './slots.ts';
import type { ValueReader } from './value-streams.ts';
import { createTrackingView } from './view-layout.ts';
import {
  HEADER,
  HOST_TAG,
  NESTING_DEPTH_MAX,
  REGEXP_FLAGS,
  TAG,
  UnicodeSources,
  VIEW_CLASSES,
  VIEW_FLAG,
  WIRE_VERSION,
  WIRE_VERSION_MIN,
} from './wire.ts';

/**
 * Returns a new copy of the value that `bytes` store. The bytes may be a window on larger memory, at any address.
 * `elementsMax` limits the costly parts of the value: elements of Maps and Sets, errors, platform objects, resizable
 * buffers, and arrays that are almost empty.
 *
 * @throws StorageError `CORRUPT` for bytes that are not a value of versions 13 to 15
 */
export function deserialize(bytes: Uint8Array, elementsMax = bytes.length): unknown {
  return decode(new Decoder(bytes, undefined, elementsMax));
}

/** Returns how many elements a value of this size may have if an attacker may have made it. */
export function elementsMaxOf({ byteLength }: Uint8Array): number {
  return byteLength <= VALUE_BYTES_MAX + VALUE_FRAME_BYTES_MAX ? byteLength : READ_ELEMENTS_MAX;
}

/** Deserializes a message. `resolve` makes the things that were passed by reference from their descriptions. */
export function deserializeWith(bytes: Uint8Array, resolve: ResolveReference | undefined): unknown {
  return decode(new Decoder(bytes, resolve, bytes.length));
}

/**
 * Why a value is refused. `repeated`: its references repeat too many bytes. `numbers`: too many numbers and bigints are
 * keys of Maps and elements of Sets.
 */
type Refusal = 'repeated' | 'numbers';

/** A value from a peer that may be an attacker. */
export interface PeerValue {
  /** The value, which is incomplete if it is refused. */
  readonly value: unknown;
  /** The reason why no program may get the value; undefined if a program may get it. */
  readonly refusal: Refusal | undefined;
  /** True if an object contains itself. */
  readonly isCyclic: boolean;
}

/**
 * Deserializes a value from a peer. Strings may be keys of Maps and Sets in any number, because V8 hashes them with a seed.
 *
 * @throws CORRUPT
 */
export function deserializeFromPeer(bytes: Uint8Array, resolve?: ResolveReference): PeerValue {
  const decoder = new Decoder(bytes, resolve, elementsMaxOf(bytes), []);
  const value = decode(decoder);
  const { refusal, isCyclic } = decoder;
  return { value, refusal, isCyclic };
}

function decode(decoder: Decoder): unknown {
  try {
    return decoder.decode();
  } catch (error) {
    if (isStorageError(error)) throw error;
    // A constructor has refused bytes that no program could have stored, or the stack is too small for the nesting.
    throw corruptValueError(error instanceof Error ? error.message : String(error), {
      cause: error,
    });
  }
}

export type ResolveReference = (description: Readonly<Record<string, unknown>>) => object;

/**
 * The most bytes that the growable buffers of one value may reserve, because their maximum size is only a number in the
 * bytes.
 */
const RESERVED_BYTES_MAX = 2 ** 32;

/**
 * The most bytes that references to shared objects may add to a value from a peer (our choice), where each reference
 * counts with the bytes of its object. 350 bytes can repeat one object 2⁴⁰ times, and code that walks the value visits
 * every repetition.
 */
const REPEATED_BYTES_MAX = 16 * 1024 * 1024;

/** The longest array whose length is set before its elements are read, however few elements it has. */
const SHORT_ARRAY = 64;

type Container = Record<string | number, unknown>;

/** Reserves the number of an object that has not been created yet. */
const PENDING = Symbol('pending');

class Decoder implements ValueReader {
  readonly input: ByteReader;
  readonly #objects: unknown[] = [];
  /** The counter is created for the first regular expression, because most values have none. */
  #unicodeSources: UnicodeSources | undefined;
  readonly #bytes: Uint8Array;
  readonly #resolve: ResolveReference | undefined;
  /**
   * For a value from a peer: the bytes of each object, including the bytes that references in it repeat; undefined for
   * an object that has not ended.
   */
  readonly #sizes: (number | undefined)[] | undefined;
  #version = WIRE_VERSION_MIN;
  #depth = 0;
  #reservedBytes = 0;
  #repeatedBytes = 0;
  #elementsLeft: number;
  refusal: Refusal | undefined;
  isCyclic = false;

  constructor(
    bytes: Uint8Array,
    resolve: ResolveReference | undefined,
    elementsMax: number,
    sizes?: number[],
  ) {
    this.#bytes = bytes;
    this.#resolve = resolve;
    this.#sizes = sizes;
    this.#elementsLeft = elementsMax;
    this.input = new ByteReader(bytes);
  }

  decode(): unknown {
    if (this.#bytes[0] === HEADER) {
      this.input.byte();
      this.#version = this.input.varint();
      if (this.#version < WIRE_VERSION_MIN || this.#version > WIRE_VERSION) {
        throw corruptValueError(
          `version ${this.#version} of the format; ${WIRE_VERSION_MIN} to ${WIRE_VERSION} are known`,
        );
      }
    }
    return this.readValue();
  }

  readValue(): unknown {
    const { input } = this;
    const tag = input.tag();
    switch (tag) {
      case TAG.oneByteString:
        return input.oneByteString();
      case TAG.int32:
        return input.int32();
      case TAG.object:
        return this.#nested(tag);
      case TAG.twoByteString:
        return input.twoByteString();
      case TAG.double:
        return input.double();
      case TAG.true:
        return true;
      case TAG.false:
        return false;
      case TAG.null:
        return null;
      case TAG.undefined:
        return undefined;
      case TAG.reference:
        return this.#readReference();
      case TAG.bigint:
        return input.bigint();
      case TAG.uint32:
        return input.varint() >>> 0;
      case TAG.utf8String:
        return input.utf8();
      case TAG.verifyCount:
        input.varint();
        return this.readValue();
      default:
        return this.#nested(tag);
    }
  }

  /** Reads a container. Few stack frames are used per level, because the stack limits the nesting. */
  #nested(tag: number): unknown {
    if (++this.#depth > NESTING_DEPTH_MAX) {
      throw corruptValueError(`objects nested more than ${NESTING_DEPTH_MAX} levels deep`);
    }
    const number = this.#objects.length;
    const start = this.input.position + this.#repeatedBytes;
    let value: unknown;
    if (tag === TAG.object) {
      value = this.#add({});
      this.#readMembers(value as Container, TAG.objectEnd);
    } else if (tag === TAG.denseArray) {
      value = this.#readDenseArray();
    } else if (tag === TAG.map) {
      value = this.#readMap();
    } else if (tag === TAG.set) {
      value = this.#readSet();
    } else {
      value = this.#readContent(tag);
    }
    this.#depth--;
    if (this.#sizes) this.#sizes[number] = this.input.position + this.#repeatedBytes - start;
    return value;
  }

  #readContent(tag: number): unknown {
    const { input } = this;
    switch (tag) {
      case TAG.sparseArray:
        return this.#readSparseArray();
      case TAG.date:
        return this.#add(new Date(input.double()));
      case TAG.regExp:
        return this.#readRegExp();
      case TAG.trueObject:
        return this.#add(Object(true));
      case TAG.falseObject:
        return this.#add(Object(false));
      case TAG.numberObject:
        return this.#add(Object(input.double()));
      case TAG.bigintObject:
        return this.#add(Object(input.bigint()));
      case TAG.stringObject:
        return this.#add(Object(input.taggedString()));
      case TAG.arrayBuffer:
        return this.#readViews(this.#add(input.copy(input.varint()).buffer));
      case TAG.resizableArrayBuffer:
        return this.#readViews(this.#add(this.#readResizableBuffer()));
      case TAG.error: {
        this.#takeElement();
        const number = this.#reserve();
        return readPlainError(this, (error) => {
          this.#objects[number] = error;
        });
      }
      case TAG.host:
        return this.#readHost();
      case TAG.sharedArrayBuffer:
        throw corruptValueError('a SharedArrayBuffer, whose content was never stored');
      default:
        throw corruptValueError(`byte ${tag} in place of a value`);
    }
  }

  #readDenseArray(): unknown[] {
    const length = this.input.varint();
    // The array grows with its elements. Each element takes at least one byte, so a false length reaches the end of the
    // bytes.
    const array: unknown[] = [];
    this.#objects.push(array);
    for (let i = 0; i < length; i++) {
      if (this.input.peekTag() === TAG.hole) {
        this.input.byte();
        array.length = i + 1;
      } else {
        array.push(this.readValue());
      }
    }
    this.#readMembers(array as unknown as Container, TAG.denseArrayEnd);
    this.#checkLength(array, length);
    return array;
  }

  #readSparseArray(): unknown[] {
    const length = this.input.varint();
    if (length >= 2 ** 32) throw corruptValueError(`an array of length ${length}`);
    const array: unknown[] = [];
    this.#objects.push(array);
    const count = this.#readMembers(array as unknown as Container, TAG.sparseArrayEnd);
    if (array.length > length) throw corruptValueError('an element behind the end of its array');
    if (length > 8 + 8 * count) this.#takeElement();
    // A sparse array first gets the maximal length, so that engines store its elements in a map instead of a list.
    if (length > SHORT_ARRAY + 8 * count) array.length = 2 ** 32 - 1;
    array.length = length;
    this.#checkLength(array, length);
    return array;
  }

  #checkLength(array: readonly unknown[], length: number): void {
    if (this.input.varint() !== length || array.length !== length) {
      throw corruptValueError('the two lengths of an array differ');
    }
  }

  /** Reads properties up to their end, and returns their number. */
  #readMembers(object: Container, end: number): number {
    const { input } = this;
    let count = 0;
    let lastIndex = 0;
    for (; input.peekTag() !== end; count++) {
      const key = this.readValue();
      if (typeof key !== 'string' && typeof key !== 'number') {
        throw corruptValueError('a key that is neither string nor number');
      }
      const value = this.readValue();
      if ((typeof key === 'number' || key < ':') && Number(key) > lastIndex)
        lastIndex = Number(key);
      if (key === '__proto__' || (key === 'length' && Array.isArray(object))) {
        if (key === 'length') throw corruptValueError('an array with a property "length"');
        const own = { value, writable: true, enumerable: true, configurable: true };
        Object.defineProperty(object, key, own);
      } else {
        object[key] = value;
      }
    }
    input.byte();
    if (input.varint() !== count) throw corruptValueError('the number of properties is wrong');
    // Engines store a list up to the last index, 4 kB at most, even for an object of seven bytes.
    if (lastIndex > SHORT_ARRAY + 8 * count) this.#takeElement();
    return count;
  }

  #readMap(): Map<unknown, unknown> {
    const map = new Map();
    this.#objects.push(map);
    let count = 0;
    for (; this.input.peekTag() !== TAG.mapEnd; count += 2) {
      const key = this.readValue();
      const value = this.readValue();
      if (this.#mayAdd(key)) map.set(key, value);
    }
    this.#checkCount(count);
    return map;
  }

  #readSet(): Set<unknown> {
    const set = new Set();
    this.#objects.push(set);
    let count = 0;
    for (; this.input.peekTag() !== TAG.setEnd; count++) {
      const element = this.readValue();
      if (this.#mayAdd(element)) set.add(element);
    }
    this.#checkCount(count);
    return set;
  }

  /** Counts a key of a Map, or an element of a Set. Returns false if it must be dropped from a value of a peer. */
  #mayAdd(key: unknown): boolean {
    if (!this.#sizes) this.#takeElement();
    else if (typeof key === 'number' || typeof key === 'bigint') {
      if (--this.#elementsLeft < 0) this.refusal = 'numbers';
    }
    return this.refusal !== 'numbers';
  }

  #takeElement(): void {
    if (--this.#elementsLeft < 0)
      throw corruptValueError('too many elements of Maps and Sets, or errors');
  }

  #checkCount(count: number): void {
    this.input.byte();
    if (this.input.varint() !== count) throw corruptValueError('the number of items is wrong');
  }

  #readRegExp(): RegExp {
    const source = this.input.taggedString();
    const bits = this.input.varint();
    let flags = '';
    for (const [flag, bit] of REGEXP_FLAGS) if (bits & bit) flags += flag;
    this.#unicodeSources ??= new UnicodeSources();
    const tooLong = this.#unicodeSources.add(source, flags);
    if (tooLong !== undefined) throw corruptValueError(tooLong);
    return this.#add(new RegExp(source, flags));
  }

  #readResizableBuffer(): ArrayBuffer {
    this.#takeElement();
    const length = this.input.varint();
    const maxByteLength = this.input.varint();
    const content = this.input.copy(length);
    this.#reservedBytes += maxByteLength;
    if (maxByteLength < length || this.#reservedBytes > RESERVED_BYTES_MAX) {
      throw corruptValueError(`a buffer that may grow to ${maxByteLength} bytes`);
    }
    const buffer = new ArrayBuffer(length, { maxByteLength });
    new Uint8Array(buffer).set(content);
    return buffer;
  }

  /** Reads the view that may follow a buffer. If there is a view, it is the value, instead of the buffer. */
  #readViews(buffer: ArrayBuffer): ArrayBuffer | ArrayBufferView {
    const { input } = this;
    if (input.peekTag() !== TAG.view) return buffer;
    input.byte();
    const view = this.#readView(buffer);
    if (this.#sizes) this.#sizes[this.#objects.length] = view.byteLength;
    return this.#add(view);
  }

  #readView(buffer: ArrayBuffer): ArrayBufferView {
    const { input } = this;
    const tag = input.byte();
    const offset = input.varint();
    const length = input.varint();
    const flags = this.#version >= 14 ? input.varint() : 0;
    const viewClass = VIEW_CLASSES.find((entry) => entry.tag === tag);
    if (!viewClass) throw corruptValueError(`a view of class ${tag}, unknown to this engine`);
    if ((flags & VIEW_FLAG.lengthTracking) !== 0) {
      if (!bufferResizable(buffer))
        throw corruptValueError('a view that follows the end of a fixed buffer');
      return createTrackingView(viewClass, buffer, offset);
    }
    if (length % viewClass.elementBytes !== 0) throw corruptValueError('half an element in a view');
    return viewClass.create(buffer, offset, length / viewClass.elementBytes);
  }

  #readReference(): unknown {
    const number = this.input.varint();
    const object = this.#objects[number];
    if (object === undefined || object === PENDING)
      throw corruptValueError(`object ${number} is not there`);
    // A view of a buffer that was read earlier is preceded by a reference to that buffer.
    const value = object instanceof ArrayBuffer ? this.#readViews(object) : object;
    if (this.#sizes) {
      const size = value === object ? this.#sizes[number] : (value as ArrayBufferView).byteLength;
      if (size === undefined) this.isCyclic = true;
      else if ((this.#repeatedBytes += size) > REPEATED_BYTES_MAX) this.refusal ??= 'repeated';
    }
    return value;
  }

  #readHost(): object {
    this.#takeElement();
    const number = this.#reserve();
    const tag = this.input.varint();
    const onCreated = (object: object) => {
      this.#objects[number] = object;
    };
    // As in workerd, `stack` is enumerable for a stored error, and not for an error in a message.
    if (tag === HOST_TAG.error) return readHostError(this, onCreated, this.#resolve === undefined);
    const object =
      tag === HOST_TAG.reference && this.#resolve !== undefined
        ? this.#resolve(this.readValue() as Record<string, unknown>)
        : readHostObject(tag, this);
    onCreated(object);
    return object;
  }

  #reserve(): number {
    return this.#objects.push(PENDING) - 1;
  }

  #add<Value>(object: Value): Value {
    this.#objects.push(object);
    return object;
  }
}
