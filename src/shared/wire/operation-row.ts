// Defines the type of one row of the table of operations: a row's fields, result and method must agree.
//
// Does not know which operations there are (operations.ts).

import type { FieldCheck } from '../contract/arguments.ts';

export type FieldChecks = Readonly<Record<string, FieldCheck<unknown>>>;

export type Checked<Checks extends FieldChecks> = {
  readonly [Name in keyof Checks]: ReturnType<Checks[Name]>;
};

/**
 * The part that performs an operation: the storage of the object, alone; the session of the page, with its cursors,
 * moments and transaction; or the host, because the operation ends the instance or needs another object.
 */
export type Performer = 'storage' | 'session' | 'host';

/** A row of the table. `Result` is the type that the call resolves to. */
export interface OperationRow<
  Checks extends FieldChecks,
  Result,
  By extends Performer = Performer,
  Owner extends MethodOwner = never,
  Effect extends 'read' | 'write' = 'read' | 'write',
> {
  readonly by: By;
  /** Never present: it holds the type of the result. */
  readonly result?: () => Result;
  /**
   * A `read` has no effect, and is sent again if the worker is lost before it answers. A `write`
   * may have taken effect, so it rejects instead.
   */
  readonly effect: Effect;
  readonly fields: Checks;
  /** Present if the operation is a method of the same name. */
  readonly method?: Method<Checked<Checks>, Result, Owner>;
  /** The operation names something that only the worker in which it was created has. */
  readonly isBound?: true;
  /**
   * The operation begins or ends a transaction, or ends the instance. Later calls of its message wait for it, and it is
   * not repeated at another instance.
   */
  readonly isBoundary?: true;
  /** The operation is the only call of its message, because it may wait long for other sessions. */
  readonly travelsAlone?: true;
}

/** How programs call an operation. */
interface Method<Fields, Result, Owner extends MethodOwner> {
  readonly on: Owner;
  /** The operation throws WRONG_BACKEND for classes on the key-value backend. */
  readonly needsSqlBackend?: true;
  /** The fields for these arguments; serializes values, so that later changes are not stored. */
  fields(args: readonly unknown[]): Fields;
  /** The method's result. @default the result itself */
  returns?(result: Result, args: readonly unknown[], fields: Fields): unknown;
}

/**
 * The objects that have the method: `transaction`, the storage and the `txn` of a transaction; `storage`, the storage
 * only; `page`, only the storage of a page.
 */
export type MethodOwner = 'transaction' | 'storage' | 'page';

/** Takes the result first, because it is written out, and infers the other types from the row. */
export function operation<Result>() {
  return <
    By extends Performer,
    Checks extends FieldChecks,
    Effect extends 'read' | 'write',
    Owner extends MethodOwner = never,
  >(
    row: OperationRow<Checks, Result, By, Owner, Effect>,
  ): OperationRow<Checks, Result, By, Owner, Effect> => row;
}
