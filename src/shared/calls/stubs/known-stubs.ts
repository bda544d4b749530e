// Registers every stub, member and namespace of this thread, with what other code needs to know about it.

import { storageError } from '../../contract/errors.ts';
import type { Live } from '../../contract/live.ts';
import type { CallAddress, WireAddress } from '../../wire/address.ts';

const addresses = new WeakMap<object, CallAddress>();
const rpcStubs = new WeakSet<object>();
const members = new WeakMap<object, object | undefined>();
const unsendableReasons = new WeakMap<object, string>();
const callers = new WeakMap<object, object>();
const classNames = new WeakMap<object, string>();
const liveCallers = new WeakMap<object, CallLive>();

/** Makes a live call of the object behind a stub. */
export type CallLive = (path: readonly string[], parameters: readonly unknown[]) => Live<unknown>;

/** Returns the address of the object or entry point that a stub calls; undefined if the value is not such a stub. */
export function addressOf(stub: object): CallAddress | undefined {
  return addresses.get(stub);
}

/** Returns the address of an argument that must be the stub of an object. @throws INVALID_ARGUMENT */
export function mustBeStub(operation: string, stub: object): WireAddress {
  const address = addressOf(stub);
  if (address !== undefined && 'id' in address) return address;
  throw storageError(
    'INVALID_ARGUMENT',
    `${operation}: takes a stub of an object, such as env.Room.getByName('lobby').`,
  );
}

export function setAddress(stub: object, address: CallAddress): void {
  addresses.set(stub, address);
}

/** Returns the caller that performs the calls of a stub or namespace; undefined if the value is neither. */
export function callerOf(value: object): object | undefined {
  return callers.get(value);
}

export function setCaller(value: object, caller: object): void {
  callers.set(value, caller);
}

/** Returns the class name of a namespace; undefined for any other value. */
export function namespaceClass(namespace: object): string | undefined {
  return classNames.get(namespace);
}

/** Registers a namespace. `caller` performs the calls of its stubs. */
export function setNamespace(namespace: object, className: string, caller: object): void {
  classNames.set(namespace, className);
  callers.set(namespace, caller);
}

/** Returns the message of the error that sending the value causes; undefined if `setFixed` was not called for it. */
export function whyFixed(value: object): string | undefined {
  return unsendableReasons.get(value);
}

/** Marks a value that cannot be sent. Sending it throws a DataCloneError with this message. */
export function setFixed(value: object, words: string): void {
  unsendableReasons.set(value, words);
}

/** Returns the function that makes live calls of a stub's object; undefined if live calls are not possible. */
export function liveCallsOf(stub: object): CallLive | undefined {
  return liveCallers.get(stub);
}

export function setLiveCalls(stub: object, call: CallLive): void {
  liveCallers.set(stub, call);
}

/** Returns true for the stub of a function or RpcTarget. */
export function isRpcStub(value: object): boolean {
  return rpcStubs.has(value);
}

export function addRpcStub(stub: object): void {
  rpcStubs.add(stub);
}

/** Returns true for a member of a stub, which can be called or awaited. */
export function isMember(value: object): boolean {
  return members.has(value);
}

/** Registers a member of a stub. The member keeps its `owner` from being garbage collected. */
export function addMember(member: object, owner: object | undefined): void {
  members.set(member, owner);
}
