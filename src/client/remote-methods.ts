// The methods of a page that are in the table of operations. Arguments are converted and values
// serialized during the call, so a wrong argument rejects before anything is sent, and later changes
// of a value are not stored.

import {
  type Call,
  defineMethods,
  type MethodOwner,
  type Results,
} from '../contract/operations.ts';

/** Makes a call, for a handle or for a transaction. */
export type SendCall = <C extends Call>(call: C) => Promise<Results[C['op']]>;

/** Gives a class the methods of the owners. `sendOf` returns the way in which its calls are made. */
export function defineRemoteMethods<Self>(
  prototype: object,
  owners: readonly MethodOwner[],
  sendOf: (self: Self) => SendCall,
): void {
  defineMethods(prototype, owners, (op, method) => {
    return async function (this: Self, ...args) {
      const fields = method.fields(args);
      const result = await sendOf(this)({ op, ...fields } as Call);
      return method.returns === undefined ? result : method.returns(result, args, fields);
    };
  });
}
