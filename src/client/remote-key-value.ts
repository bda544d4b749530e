// The key-value methods of a page, for a handle and for the `txn` of a transaction, which differ in
// what their calls belong to. All of them come from the table of operations.

import type { MethodName } from '../contract/operations.ts';
import type { KeyValueOperations } from '../contract/storage.ts';
import { defineRemoteMethods, type SendCall } from './remote-methods.ts';

/** The methods of the table, which the static block defines. */
export interface RemoteKeyValue extends Pick<KeyValueOperations, MethodName<'transaction'>> {}

// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the static block defines these methods
export class RemoteKeyValue implements KeyValueOperations {
  readonly #send: SendCall;

  constructor(send: SendCall) {
    this.#send = send;
  }

  static {
    defineRemoteMethods(
      RemoteKeyValue.prototype,
      ['transaction'],
      (self: RemoteKeyValue) => self.#send,
    );
  }
}
