// Builds pieces of WebAssembly code, finds places in existing code by their bytes, and inserts pieces there.

import { concat, type Span, signed, unsigned } from './wasm-bytes.ts';

export const OP = {
  if: 0x04,
  end: 0x0b,
  brIf: 0x0d,
  brTable: 0x0e,
  call: 0x10,
  localGet: 0x20,
  localSet: 0x21,
  localTee: 0x22,
  globalGet: 0x23,
  i32Load: 0x28,
  i64Load: 0x29,
  i32Load8U: 0x2d,
  i32Store: 0x36,
  i32Const: 0x41,
  i64Const: 0x42,
  i32Eqz: 0x45,
  i32Eq: 0x46,
  i32Ne: 0x47,
  i64Ne: 0x52,
  i32Add: 0x6a,
  i32Sub: 0x6b,
  i32Mul: 0x6c,
  i32And: 0x71,
  i32Shl: 0x74,
} as const;

/** Alignments of loads and stores, as powers of two. */
export const ALIGN_4 = 2;
export const ALIGN_8 = 3;

/** Code to insert, and the place before which it goes. */
export interface Insertion {
  readonly at: number;
  readonly code: readonly number[];
}

export const get = (local: number) => [OP.localGet, ...unsigned(local)];
export const set = (local: number) => [OP.localSet, ...unsigned(local)];
export const constant = (value: number) => [OP.i32Const, ...signed(value)];
export const load = (offset: number) => [OP.i32Load, ALIGN_4, ...unsigned(offset)];

/** Returns the bytes of the span with the insertions in their places. */
export function insert(wasm: Uint8Array, span: Span, insertions: readonly Insertion[]): Uint8Array {
  const parts: (Uint8Array | readonly number[])[] = [];
  let from = span.start;
  for (const { at, code } of [...insertions].sort((a, b) => a.at - b.at)) {
    parts.push(wasm.subarray(from, at), code);
    from = at;
  }
  parts.push(wasm.subarray(from, span.end));
  return concat(parts);
}

/** Returns the single element of `found`. @throws Error when there is none or more than one */
export function only<T>(found: readonly T[], what: string): T {
  const first = found[0];
  if (first === undefined || found.length !== 1) {
    throw new Error(
      `Instrumenting sqlite3.wasm: ${what} was found ${found.length} times instead of once; ` +
        'install the version this was written for, or adapt the pattern.',
    );
  }
  return first;
}

/** Returns every position in the span at which these bytes begin. */
export function occurrences(wasm: Uint8Array, span: Span, bytes: readonly number[]): number[] {
  const found: number[] = [];
  for (let at = span.start; at <= span.end - bytes.length; at++) {
    if (isAt(wasm, at, bytes)) found.push(at);
  }
  return found;
}

export function isAt(wasm: Uint8Array, at: number, bytes: readonly number[]): boolean {
  return bytes.every((byte, index) => wasm[at + index] === byte);
}
