// Which statement's instructions the module counts.
//
// Writing a global of WebAssembly costs as much as reading a row, and a program that reads rows steps one
// statement again and again. So the choice stays until another statement is stepped.
//
// Invariant: a statement is chosen only while it exists, because the next one may get its address. Other
// statements may run meanwhile; the module compares addresses.

/** The address of no statement. */
const NONE = 0;

export class CountedStatement {
  readonly #global: WebAssembly.Global<'i32'>;
  #statement = NONE;

  /** `global` is the one that the module exports for it. */
  constructor(global: WebAssembly.Global<'i32'>) {
    this.#global = global;
  }

  /** Counts the statement at this address, and no other one. */
  choose(statement: number): void {
    if (statement === this.#statement) return;
    this.#statement = statement;
    this.#global.value = statement;
  }

  /** The statement is about to be finalized. */
  forget(statement: number): void {
    if (statement === this.#statement) this.choose(NONE);
  }
}
