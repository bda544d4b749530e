// Passes the WebSocket of a response to the other side: each side has one end, and events cross the connection.
//
// A side that takes no more for now answers late, and the other one holds its own end back while answers are due.
//
// Invariant: events arrive in the order in which they were sent, in both directions. A lost connection closes both ends
// with code 1006. Events do not wait here for an object's writes; the code that sends them has waited.

import { dataCloneError } from '../../values/object-kind.ts';
import type { Payload } from '../../wire/address.ts';
import type { ReferenceRequest } from '../../wire/protocol.ts';
import { UpgradeSocket } from '../http/response-parts.ts';
import { SocketEnd, type SocketEvent } from '../sockets/socket-end.ts';
import { socketParts, WebSocket } from '../sockets/web-socket.ts';
import type { Party } from '../stubs/party.ts';
import type { Exported, ReferenceChannel } from './channel.ts';
import type { Imported } from './imported.ts';
import { type ReferenceKind, unsupportedRequestError } from './kind.ts';

export const socket: ReferenceKind<UpgradeSocket> = {
  by: 'reference',
  recognizes: (value) => value instanceof UpgradeSocket,
  leave(upgrade, party) {
    const parts = socketParts(upgrade.socket);
    if (parts === undefined) throw dataCloneError(upgrade.socket);
    return new ExportedSocket(parts.end, party);
  },
  arrive: (imported) => new UpgradeSocket(socketOf(imported)),
};

/** An end is held back while this many of its events are not answered (our choice). */
const UNANSWERED_MAX = 2;

class ExportedSocket implements Exported {
  readonly #party: Party;
  readonly #end: SocketEnd;
  /** Events that the other side has not fetched yet. */
  #arrived: SocketEvent[] = [];
  #wakePull = () => {};
  /** The functions that answer the events which came while the end was held back. */
  #wakeWrites: (() => void)[] = [];

  constructor(end: SocketEnd, party: Party) {
    this.#end = end;
    this.#party = party;
    if (end.isTaken) {
      throw new TypeError("Can't return WebSocket in a Response after calling accept().");
    }
    end.take((event) => {
      this.#arrived.push(event);
      this.#wakePull();
    });
    end.whenHeld((isHeld) => {
      if (isHeld) return;
      for (const wake of this.#wakeWrites.splice(0)) wake();
    });
  }

  /**
   * Keeps the context of an event in memory, because an ended event cannot be resumed. Does not keep an object in
   * memory, because an object with an open socket may be evicted.
   */
  retain(): () => void {
    const { io } = this.#party;
    return io.endsWithEvent ? io.retain() : () => {};
  }

  async ask(request: ReferenceRequest, channel: ReferenceChannel): Promise<Payload | null> {
    switch (request.op) {
      case 'write':
        this.#end.send(channel.receive(request.payload, this.#party) as SocketEvent);
        if (this.#end.isHeld) {
          await new Promise<void>((resolve) => {
            this.#wakeWrites.push(resolve);
          });
        }
        return null;
      case 'pull': {
        const events = await this.#take();
        return events.length === 0 ? null : channel.send(channel.draft(events, this.#party));
      }
      default:
        throw unsupportedRequestError(request);
    }
  }

  release(): void {
    if (!this.#end.isOver) this.#end.break();
    this.#wakePull();
  }

  /** Waits for the next events. Returns at least one, or none after the end. */
  async #take(): Promise<SocketEvent[]> {
    if (this.#arrived.length === 0 && !this.#end.hasReceivedClose) {
      await new Promise<void>((resolve) => {
        this.#wakePull = resolve;
      });
    }
    const arrived = this.#arrived;
    this.#arrived = [];
    return arrived;
  }
}

/** Makes the socket that represents the other side's. User code must still accept it. */
function socketOf(imported: Imported): WebSocket {
  const [near, far] = SocketEnd.pair();
  const release = imported.hold(far);
  let unanswered = 0;
  const count = (change: 1 | -1) => {
    unanswered += change;
    far.hold(unanswered >= UNANSWERED_MAX);
  };
  far.take((event) => {
    count(1);
    imported
      .askWith(event, (payload) => ({ op: 'write', payload }))
      .finally(() => count(-1))
      .then(
        () => far.isOver && release(),
        () => far.break(),
      );
  });
  void pullAll(imported, far, release);
  return new WebSocket(near);
}

async function pullAll(imported: Imported, far: SocketEnd, release: () => void): Promise<void> {
  try {
    for (;;) {
      const payload = await imported.ask({ op: 'pull' });
      if (payload === null) return;
      for (const event of imported.read(payload) as SocketEvent[]) far.send(event);
      if (far.isOver) release();
    }
  } catch {
    far.break(); // The connection is lost.
  }
}
