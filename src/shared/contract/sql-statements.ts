// Defines and checks the statements of `batch`.

import { checkArray, checkFields, checkString, eachOf, type FieldCheck } from './arguments.ts';
import { type Binding, checkBindings } from './bindings.ts';

/** One statement of `batch`. */
export interface SqlStatement {
  readonly query: string;
  readonly bindings: readonly Binding[];
}

/** The most statements of one `batch`, which runs without a pause. */
export const BATCH_STATEMENTS_MAX = 10_000;

export const checkStatements: FieldCheck<readonly SqlStatement[]> = (name, value) =>
  eachOf(checkArray(name, value, BATCH_STATEMENTS_MAX), (statement) => {
    const fields = checkFields('statement', statement);
    return {
      query: checkString('query', fields.query),
      bindings: checkBindings('bindings', fields.bindings, name),
    };
  });
