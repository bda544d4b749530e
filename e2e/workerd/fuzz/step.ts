// Defines one operation of a random program, as plain data.

/** A step as e2e/workerd/fuzz/interpreter.mjs runs it. */
export interface Step {
  readonly op: string;
  readonly steps?: readonly Step[];
  readonly [member: string]: unknown;
}
