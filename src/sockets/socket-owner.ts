// Who holds an open socket: an object, whose code runs as its events and whose messages wait for its
// writes; or code beside the objects, which nothing holds back.

import type { SocketEnd } from './socket-end.ts';

/** What binary messages arrive as. */
export type BinaryType = 'arraybuffer' | 'blob';

export interface SocketOwner {
  /** Of its new sockets. */
  readonly binaryType: BinaryType;
  /** Runs the task as an event of the owner, in a turn of its own. */
  enter(task: () => void): void;
  /** Sends behind what the owner wrote, in order. */
  leave(send: () => void): void;
  /** Keeps the owner's memory for the open socket, which ends with it; until the result is called. */
  hold(end: SocketEnd): () => void;
}

/** Tells who runs now; undefined for code beside the objects. */
export type CurrentOwner = () => SocketOwner | undefined;

let currentOwner: CurrentOwner = () => undefined;

/** Called by a host: sockets that its objects accept belong to them. */
export function connectSockets(current: CurrentOwner): void {
  currentOwner = current;
}

/** The owner of what is accepted now. */
export function ownerNow(): SocketOwner {
  return currentOwner() ?? FREE;
}

const FREE: SocketOwner = {
  binaryType: 'arraybuffer',
  enter: (task) => void setTimeout(task, 0),
  leave: (send) => send(),
  hold: () => () => {},
};
