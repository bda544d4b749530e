// Which values are stubs: every stub made in this realm is registered here.

import { storageError } from '../../contract/errors.ts';
import type { Live } from '../../contract/live.ts';
import type { CallAddress, WireAddress } from '../../wire/address.ts';

const addresses = new WeakMap<object, CallAddress>();
const rpcStubs = new WeakSet<object>();
const members = new WeakMap<object, object | undefined>();
const fixed = new WeakMap<object, string>();
const callers = new WeakMap<object, object>();
const classNames = new WeakMap<object, string>();
const liveCallers = new WeakMap<object, CallLive>();

/** Makes a live call of the object behind a stub. */
export type CallLive = (path: readonly string[], parameters: readonly unknown[]) => Live<unknown>;

/** The object or entry point that a stub calls; undefined if the value is a stub of neither. */
export function addressOf(stub: object): CallAddress | undefined {
  return addresses.get(stub);
}

/** The same, for an argument that must be the stub of an object. @throws INVALID_ARGUMENT */
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

/** Whose calls a stub or a namespace makes; undefined if the value is neither. */
export function callerOf(value: object): object | undefined {
  return callers.get(value);
}

export function setCaller(value: object, caller: object): void {
  callers.set(value, caller);
}

/** The class of a namespace; undefined for any other value. */
export function namespaceClass(namespace: object): string | undefined {
  return classNames.get(namespace);
}

/** `caller`: who makes the calls of its stubs. */
export function setNamespace(namespace: object, className: string, caller: object): void {
  classNames.set(namespace, className);
  callers.set(namespace, caller);
}

/** Why the value cannot be sent; undefined if nothing was said about it. */
export function whyFixed(value: object): string | undefined {
  return fixed.get(value);
}

/** The value stays where it is: sending it is a DataCloneError with these words. */
export function setFixed(value: object, words: string): void {
  fixed.set(value, words);
}

/** How methods of the object are called live; undefined if they cannot be. */
export function liveCallsOf(stub: object): CallLive | undefined {
  return liveCallers.get(stub);
}

export function setLiveCalls(stub: object, call: CallLive): void {
  liveCallers.set(stub, call);
}

/** True for the stub of a function or RpcTarget. */
export function isRpcStub(value: object): boolean {
  return rpcStubs.has(value);
}

export function addRpcStub(stub: object): void {
  rpcStubs.add(stub);
}

/** True for a member of a stub, which can be called or awaited. */
export function isMember(value: object): boolean {
  return members.has(value);
}

/** `owner` lives as long as the member. */
export function addMember(member: object, owner: object | undefined): void {
  members.set(member, owner);
}
