// The wire format of values: V8's ValueSerializer, version 15, with the host objects of workerd.
//
// A value is `FF version` and one tagged value. Numbers are little-endian, lengths are varints (seven
// bits a byte, low first). Objects are numbered in the order they begin, from 0, and `reference`
// repeats one by its number. A zero byte before a tag is padding.
//
// Values stored in a database file by workerd are in this format, so a file moves both ways.

/** Version written. */
export const WIRE_VERSION = 15;

/** Oldest version read; also the version of a value without header, which is older still. */
export const WIRE_VERSION_MIN = 13;

/** First byte of a header; never the first byte of a value without one. */
export const HEADER = 0xff;

/**
 * Deepest nesting of objects, here and in reading. A browser's stack of about 1 MB holds 2,000 levels
 * before the engine has optimised anything; half of that leaves room for the caller, and makes sure
 * that a value written by one thread can be read by another. (workerd gives up by the size of its
 * stack, at about 2,400 objects.)
 */
export const NESTING_DEPTH_MAX = 1000;

export const TAG = {
  padding: 0x00,
  verifyCount: code('?'),
  undefined: code('_'),
  null: code('0'),
  true: code('T'),
  false: code('F'),
  /** A small integer, zigzag varint. */
  int32: code('I'),
  uint32: code('U'),
  double: code('N'),
  bigint: code('Z'),
  /** Latin-1. */
  oneByteString: code('"'),
  /** UTF-16LE; its length is in bytes, its characters lie at an even position. */
  twoByteString: code('c'),
  utf8String: code('S'),
  reference: code('^'),
  object: code('o'),
  objectEnd: code('{'),
  denseArray: code('A'),
  denseArrayEnd: code('$'),
  hole: code('-'),
  sparseArray: code('a'),
  sparseArrayEnd: code('@'),
  map: code(';'),
  mapEnd: code(':'),
  set: code("'"),
  setEnd: code(','),
  date: code('D'),
  regExp: code('R'),
  trueObject: code('y'),
  falseObject: code('x'),
  numberObject: code('n'),
  bigintObject: code('z'),
  stringObject: code('s'),
  arrayBuffer: code('B'),
  resizableArrayBuffer: code('~'),
  /** Follows the buffer it is a view of. */
  view: code('V'),
  sharedArrayBuffer: code('u'),
  error: code('r'),
  host: code('\\'),
} as const;

/** After `TAG.error`, in any order: a class, the members present, the end. */
export const ERROR_TAG = {
  message: code('m'),
  cause: code('c'),
  stack: code('s'),
  end: code('.'),
} as const;

export const ERROR_CLASS_TAGS: ReadonlyMap<number, ErrorConstructor> = new Map([
  [code('E'), EvalError],
  [code('R'), RangeError],
  [code('F'), ReferenceError],
  [code('S'), SyntaxError],
  [code('T'), TypeError],
  [code('U'), URIError],
]);

/** After `TAG.host`: workerd's number of a class. */
export const HOST_TAG = {
  headers: 4,
  request: 5,
  response: 6,
  domException: 8,
  error: 10,
  blob: 15,
  /** Ours, in messages only and never in a database: something passed by reference. */
  reference: 0x4000,
} as const;

/** The classes of errors by workerd's number; 0 is any other name, which then follows. */
export const ERROR_KINDS: ReadonlyMap<string, number> = new Map([
  ['Error', 1],
  ['TypeError', 2],
  ['RangeError', 3],
  ['ReferenceError', 4],
  ['SyntaxError', 5],
  ['EvalError', 10],
  ['URIError', 11],
  ['AggregateError', 12],
  ['SuppressedError', 13],
]);

/** WebAssembly's classes of errors: never written, because their names do not say them. */
export const WEBASSEMBLY_ERROR_KINDS: ReadonlyMap<number, string> = new Map([
  [6, 'CompileError'],
  [7, 'LinkError'],
  [8, 'RuntimeError'],
]);

/** Bits of a regular expression's flags; bit 6 is V8's own "linear" and never appears. */
export const REGEXP_FLAGS: readonly (readonly [flag: string, bit: number])[] = [
  ['g', 1],
  ['i', 2],
  ['m', 4],
  ['y', 8],
  ['u', 16],
  ['s', 32],
  ['d', 128],
  ['v', 256],
];

/** Bits after a view's length, from version 14. */
export const VIEW_FLAG = { lengthTracking: 1, resizableBuffer: 2 } as const;

/** A class of views, and how many bytes an element has. */
export interface ViewClass {
  readonly tag: number;
  readonly name: string;
  readonly elementBytes: number;
  readonly create: (buffer: ArrayBuffer, offset: number, length?: number) => ArrayBufferView;
}

/** Every class of views this engine has: Float16Array is younger than the others. */
export const VIEW_CLASSES: readonly ViewClass[] = [
  viewClass('b', 'Int8Array'),
  viewClass('B', 'Uint8Array'),
  viewClass('C', 'Uint8ClampedArray'),
  viewClass('w', 'Int16Array'),
  viewClass('W', 'Uint16Array'),
  viewClass('d', 'Int32Array'),
  viewClass('D', 'Uint32Array'),
  viewClass('h', 'Float16Array'),
  viewClass('f', 'Float32Array'),
  viewClass('F', 'Float64Array'),
  viewClass('q', 'BigInt64Array'),
  viewClass('Q', 'BigUint64Array'),
  viewClass('?', 'DataView'),
].filter((entry) => entry !== undefined);

type ViewConstructor = (new (
  buffer: ArrayBuffer,
  offset: number,
  length?: number,
) => ArrayBufferView) & { readonly BYTES_PER_ELEMENT?: number };

function viewClass(tag: string, name: string): ViewClass | undefined {
  const ViewType = (globalThis as unknown as Record<string, ViewConstructor | undefined>)[name];
  return (
    ViewType && {
      tag: code(tag),
      name,
      elementBytes: ViewType.BYTES_PER_ELEMENT ?? 1,
      create: (buffer, offset, length) => new ViewType(buffer, offset, length),
    }
  );
}

function code(character: string): number {
  return character.charCodeAt(0);
}

/** In UTF-16 code units, all expressions of a value together; a quarter of a second at worst in V8. */
export const UNICODE_SOURCE_LENGTH_MAX = 2048;

/**
 * Limits the source of the regular expressions of one value in Unicode mode.
 *
 * With the flag `u` or `v`, a few characters of source stand for a class of a hundred thousand strings, and the engine
 * builds it when the expression is constructed: V8 takes about 0.1 ms a character for `\p{RGI_Emoji}`, 9 s for as much
 * as fits into a stored value. Without these flags construction is linear in the source, a thousand times faster.
 */
export class UnicodeSources {
  #length = 0;

  /** Adds one; returns the fault if they have become too long. */
  add(source: string, flags: string): string | undefined {
    if (!/[uv]/.test(flags)) return undefined;
    this.#length += source.length;
    if (this.#length <= UNICODE_SOURCE_LENGTH_MAX) return undefined;
    return (
      `its regular expressions with the flag u or v have ${this.#length} characters, ` +
      `at most ${UNICODE_SOURCE_LENGTH_MAX} together`
    );
  }
}
