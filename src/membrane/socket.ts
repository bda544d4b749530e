// A socket across a connection: an end there, an end here, and what either sends in between.
//
// Keeps true: events arrive in the order they were sent, both ways; a connection that is lost breaks
// both ends (1006). Nothing here waits for an object's writes: whoever holds an end does.

import type { Payload, ReferenceRequest } from '../rpc/object-protocol.ts';
import { SocketEnd, type SocketEvent } from '../sockets/socket-end.ts';
import { WebSocket } from '../sockets/web-socket.ts';
import type { Party } from '../stubs/party.ts';
import { type Exported, misused } from './exports.ts';
import type { Import } from './imports.ts';
import type { Channel } from './references.ts';

export class ExportedSocket implements Exported {
  readonly party: Party;
  readonly #end: SocketEnd;
  /** Not asked for yet. */
  #arrived: SocketEvent[] = [];
  #wake = () => {};

  constructor(end: SocketEnd, party: Party) {
    this.#end = end;
    this.party = party;
  }

  begin(): void {
    if (this.#end.isTaken) {
      throw new TypeError("Can't return WebSocket in a Response after calling accept().");
    }
    this.#end.take((event) => {
      this.#arrived.push(event);
      this.#wake();
    });
  }

  /** An object whose socket is open may be evicted. */
  retain(): () => void {
    return () => {};
  }

  async ask(request: ReferenceRequest, channel: Channel): Promise<Payload | null> {
    switch (request.op) {
      case 'write':
        this.#end.send(channel.receive(request.payload, this.party) as SocketEvent);
        return null;
      case 'pull': {
        const events = await this.#take();
        return events.length === 0 ? null : channel.send(channel.draft(events, this.party));
      }
      default:
        throw misused(request);
    }
  }

  release(): void {
    if (this.#end.readyState !== 3) this.#end.break();
    this.#wake();
  }

  /** What has arrived, or does next; empty after the end. */
  async #take(): Promise<SocketEvent[]> {
    if (this.#arrived.length === 0 && !this.#end.hasReceivedClose) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const arrived = this.#arrived;
    this.#arrived = [];
    return arrived;
  }
}

/** The socket of the other side, not accepted yet. */
export function importSocket(reference: Import, channel: Channel, party: Party): WebSocket {
  const [near, far] = SocketEnd.pair();
  const release = reference.hold(far);
  far.take((event) => {
    const payload = channel.send(channel.draft(event, party));
    reference.ask({ op: 'write', payload }).then(
      () => far.readyState === 3 && release(),
      () => far.break(),
    );
  });
  void pullAll(reference, channel, party, far, release);
  return new WebSocket(near);
}

async function pullAll(
  reference: Import,
  channel: Channel,
  party: Party,
  far: SocketEnd,
  release: () => void,
): Promise<void> {
  try {
    for (;;) {
      const payload = await reference.ask({ op: 'pull' });
      if (payload === null) return;
      for (const event of channel.receive(payload, party) as SocketEvent[]) far.send(event);
      if (far.readyState === 3) release();
    }
  } catch {
    far.break(); // the connection is gone
  }
}
