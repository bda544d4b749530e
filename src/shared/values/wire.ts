// Defines the wire format of values: that of V8's ValueSerializer, version 15, with workerd's host objects.
//
// A value is `FF version` and one tagged value. Numbers are little-endian, lengths are varints (seven
// bits a byte, low first). Objects are numbered in the order they begin, from 0, and `reference`
// repeats one by its number. A zero byte before a tag is padding.
//
// workerd stores values in this format, so database files can be moved in both directions.

/** The version that is written. */
export const WIRE_VERSION = 15;

/** The oldest version that can be read. Values without a header, which are even older, are read as this version. */
export const WIRE_VERSION_MIN = 13;

/** The first byte of a header. A value without a header never begins with it. */
export const HEADER = 0xff;

/**
 * The deepest nesting of objects that can be written and read. A browser's stack of about 1 MB has room for 2,000 levels
 * of unoptimized code. Half of that leaves room for the caller, and makes sure that one thread can read a value that another
 * one wrote. (In workerd the stack overflows at about 2,400 objects.)
 */
export const NESTING_DEPTH_MAX = 1000;

export const TAG = {
  padding: 0x00,
  verifyCount: code('?'),
  undefined: code('_'),
  null: code('0'),
  true: code('T'),
  false: code('F'),
  /** Tags a small integer, as a zigzag varint. */
  int32: code('I'),
  uint32: code('U'),
  double: code('N'),
  bigint: code('Z'),
  /** Tags a string in Latin-1. */
  oneByteString: code('"'),
  /** Tags a string in UTF-16LE. Its length counts bytes, and its characters begin at an even position. */
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
  /** Tags a view. It follows the buffer of the view. */
  view: code('V'),
  sharedArrayBuffer: code('u'),
  error: code('r'),
  host: code('\\'),
} as const;

/** The tags after `TAG.error`, in any order: one for the class, one for each member, and the end. */
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

/** workerd's numbers of classes, which follow `TAG.host`. */
export const HOST_TAG = {
  headers: 4,
  request: 5,
  response: 6,
  domException: 8,
  error: 10,
  blob: 15,
  /**
   * A number that only this package uses, for things passed by reference. It occurs in messages, never in a database.
   */
  reference: 0x4000,
} as const;

/** workerd's numbers of error classes. Number 0 is followed by any other name. */
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

/** The numbers of WebAssembly's error classes. They are read but never written, because the class follows from `name`. */
export const WEBASSEMBLY_ERROR_KINDS: ReadonlyMap<number, string> = new Map([
  [6, 'CompileError'],
  [7, 'LinkError'],
  [8, 'RuntimeError'],
]);

/** The bits of a regular expression's flags. Bit 6 is V8's internal flag "linear", which never occurs. */
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

/** The bits that follow a view's length, from version 14 on. */
export const VIEW_FLAG = { lengthTracking: 1, resizableBuffer: 2 } as const;

/** A class of views, and the number of bytes per element. */
export interface ViewClass {
  readonly tag: number;
  readonly name: string;
  readonly elementBytes: number;
  readonly create: (buffer: ArrayBuffer, offset: number, length?: number) => ArrayBufferView;
}

/** All classes of views that this engine has. Float16Array is newer than the others. */
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

/** The most UTF-16 code units of all Unicode-mode expressions of a value. V8 needs a quarter of a second for them at worst. */
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

  /** Counts an expression. Returns an error message if all of them together are too long. */
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
