// Puts JavaScript functions into SQLite's function table, so that SQLite can call them by address.
//
// The table takes only functions of WebAssembly. So this file writes a small WebAssembly module, byte by byte, that
// imports the JavaScript functions and exports them again. The functions stay in the table for the life of the module.

/** A parameter as SQLite passes it: `i` is a number of 32 bits or an address, `j` a bigint of 64 bits. */
export type Parameters = string;

/** A function that SQLite calls; it returns a number of 32 bits. */
export interface Callback {
  readonly parameters: Parameters;
  /** True if the C function returns nothing; SQLite then ignores the number. */
  readonly isVoid?: true;
  readonly call: (...parameters: never[]) => number;
}

const I32 = 0x7f;
const I64 = 0x7e;
const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];
const SECTION = { types: 1, imports: 2, exports: 7 } as const;
const FUNCTION_TYPE = 0x60;
const FUNCTION = 0x00;
/** The name under which the written module imports the functions. */
const MODULE = 'm';

/** Installs the functions; returns their addresses, in the same order. */
export function installFunctions(
  table: WebAssembly.Table,
  callbacks: readonly Callback[],
): number[] {
  const module = new WebAssembly.Module(moduleOf(callbacks));
  const imports = Object.fromEntries(callbacks.map(({ call }, index) => [index, call]));
  const { exports } = new WebAssembly.Instance(module, { [MODULE]: imports as never });
  const start = table.grow(callbacks.length);
  return callbacks.map((_, index) => {
    table.set(start + index, exports[index]);
    return start + index;
  });
}

function moduleOf(callbacks: readonly Callback[]): Uint8Array<ArrayBuffer> {
  const names = callbacks.map((_, index) => encodeText(String(index)));
  return Uint8Array.from([
    ...HEADER,
    ...encodeSection(
      SECTION.types,
      callbacks.map(({ parameters, isVoid }) => [
        FUNCTION_TYPE,
        ...encodeVector([...parameters].map((type) => [type === 'j' ? I64 : I32])),
        ...encodeVector(isVoid ? [] : [[I32]]),
      ]),
    ),
    ...encodeSection(
      SECTION.imports,
      names.map((name, index) => [
        ...encodeText(MODULE),
        ...name,
        FUNCTION,
        ...encodeNumber(index),
      ]),
    ),
    ...encodeSection(
      SECTION.exports,
      names.map((name, index) => [...name, FUNCTION, ...encodeNumber(index)]),
    ),
  ]);
}

function encodeSection(id: number, entries: readonly number[][]): number[] {
  const content = encodeVector(entries);
  return [id, ...encodeNumber(content.length), ...content];
}

function encodeVector(entries: readonly number[][]): number[] {
  return [...encodeNumber(entries.length), ...entries.flat()];
}

function encodeText(ascii: string): number[] {
  return encodeVector([...ascii].map((letter) => [letter.charCodeAt(0)]));
}

/** LEB128: seven bits a byte, the lowest first. */
function encodeNumber(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...encodeNumber(value >>> 7)];
}
