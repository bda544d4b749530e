// Defines the type of one row of the table of operations: a row's fields, result and method must agree.
//
// This file does not know which operations there are (operations.ts).

import type { FieldCheck } from '../contract/arguments.ts';

export type FieldChecks = Readonly<Record<string, FieldCheck<unknown>>>;

export type Checked<Checks extends FieldChecks> = {
  readonly [Name in keyof Checks]: ReturnType<Checks[Name]>;
};

/**
 * The part of the worker that performs an operation: `storage` is the storage of the object, alone; `session` is the
 * session of the page, with its cursors, moments and transaction; `host` is the host, because the operation ends the
 * instance or needs another object.
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
  /** This property never exists. Its type holds the type of the result. */
  readonly result?: () => Result;
  /**
   * A `read` has no effect, and is sent again if the worker is lost before it answers. A `write`
   * may have taken effect, so it rejects instead.
   */
  readonly effect: Effect;
  readonly fields: Checks;
  /** Present if the operation is a method of the same name. */
  readonly method?: Method<Checked<Checks>, Result, Owner>;
  /** Present if the operation names something that exists only in the worker in which it was created. */
  readonly isBound?: true;
  /**
   * Present if the operation begins or ends a transaction, or ends the instance. Later calls of the operation's message
   * wait for it, and it is not repeated at another instance.
   */
  readonly isBoundary?: true;
  /** Present if the operation is the only call of its message, because it may wait long for other sessions. */
  readonly travelsAlone?: true;
}

/** How programs call an operation. */
interface Method<Fields, Result, Owner extends MethodOwner> {
  readonly on: Owner;
  /** Present if the operation throws WRONG_BACKEND for classes on the key-value backend. */
  readonly needsSqlBackend?: true;
  /** Returns the fields for these arguments. Serializes values, so that later changes are not stored. */
  fields(args: readonly unknown[]): Fields;
  /** Converts the result to the method's result. @default the method returns the result itself */
  returns?(result: Result, args: readonly unknown[], fields: Fields): unknown;
}

/**
 * The objects that have the method: for `transaction`, the storage and the `txn` of a transaction; for `storage`, only
 * the storage; for `page`, only the storage of a page.
 */
export type MethodOwner = 'transaction' | 'storage' | 'page';

/**
 * Makes a function that takes a row. The result's type is written out in the first call; the second call infers the
 * other types from the row.
 */
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
