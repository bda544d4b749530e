// Which statement's instructions the module counts.
//
// Writing a global of WebAssembly costs as much as reading a row, and a program that reads rows steps one
// statement again and again. So the choice stays until another statement is stepped.
//
// Invariant: a statement is chosen only while it exists, because the next one may get its address. Other
// statements may run meanwhile; the module compares addresses.

import type { Pointer } from './sqlite-module.ts';

/** No statement. */
const NONE: Pointer = 0;

export class CountedStatement {
  readonly #global: WebAssembly.Global<'i32'>;
  #statement: Pointer = NONE;

  /** `global` is the one that the module exports for it. */
  constructor(global: WebAssembly.Global<'i32'>) {
    this.#global = global;
  }

  /** Counts this statement, and no other one. */
  choose(statement: Pointer): void {
    if (statement === this.#statement) return;
    this.#statement = statement;
    this.#global.value = statement;
  }

  /** The statement is about to be finalized. */
  forget(statement: Pointer): void {
    if (statement === this.#statement) this.choose(NONE);
  }
}
