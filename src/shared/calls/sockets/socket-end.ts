// One of the two ends of a socket. Messages of one end arrive at the other in order, and wait there until
// they are taken.
//
// Does not know its holder: code that has accepted it, an object that may be evicted while its sockets
// stay open, or a connection to a page.

/** An event that one end sends to the other. */
export type SocketEvent =
  | { readonly type: 'message'; readonly data: string | ArrayBuffer }
  /** `wasClean` is false if the other side was lost without a close: code 1006. */
  | {
      readonly type: 'close';
      readonly code: number;
      readonly reason: string;
      readonly wasClean: boolean;
    };

/** WebSocket.readyState: 1, 2 or 3. Both ends are connected from the start. */
export type ReadyState = 1 | 2 | 3;

export class SocketEnd {
  #other: SocketEnd | undefined;
  #waiting: SocketEvent[] = [];
  #sink: ((event: SocketEvent) => void) | undefined;
  /** A close was sent, or waits behind messages that are still to be sent. */
  #isClosing = false;
  #isLost = false;
  #hasSentClose = false;
  #hasReceivedClose = false;
  #hasHeardClose = false;

  /** Two ends, connected with each other. */
  static pair(): readonly [SocketEnd, SocketEnd] {
    const first = new SocketEnd();
    const second = new SocketEnd();
    first.#other = second;
    second.#other = first;
    return [first, second];
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  get hasReceivedClose(): boolean {
    return this.#hasReceivedClose;
  }

  get isTaken(): boolean {
    return this.#sink !== undefined;
  }

  /** True if the other end is taken, so that messages reach somebody. */
  get isHeard(): boolean {
    return this.#other?.isTaken === true;
  }

  /** As the holder knows it: a close that has arrived behind messages changes it once its own event comes. */
  get readyState(): ReadyState {
    const isEnded = this.#hasHeardClose || this.#isLost;
    if (this.#isClosing && isEnded) return 3;
    return this.#isClosing || isEnded ? 2 : 1;
  }

  /** Both ends have sent a close. */
  get isOver(): boolean {
    return this.#isClosing && this.#hasReceivedClose;
  }

  /** The event of the other end's close begins. */
  hearClose(): void {
    this.#hasHeardClose = true;
  }

  /**
   * Passes every event to the sink, beginning with the events that have arrived. Replaces an earlier
   * sink.
   */
  take(sink: (event: SocketEvent) => void): void {
    this.#sink = sink;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const event of waiting) this.#arrive(event);
  }

  /** The connection was lost, and not closed from here: what is sent now reaches nobody, and is no mistake. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** A close will be sent, after the messages that still wait. */
  announceClose(): void {
    this.#isClosing = true;
  }

  /** Sends an event. After a close, it is ignored. */
  send(event: SocketEvent): void {
    if (this.#hasSentClose) return;
    if (event.type === 'close') {
      this.#isClosing = true;
      this.#hasSentClose = true;
    }
    const other = this.#other;
    if (other !== undefined) other.#receive(event);
  }

  /** The connection is lost: both ends receive a close with code 1006. */
  break(): void {
    for (const end of [this, this.#other]) {
      if (end === undefined || end.#hasReceivedClose) continue;
      end.#isLost ||= !end.#isClosing;
      end.#isClosing = true;
      end.#hasSentClose = true;
      end.#receive({ type: 'close', code: 1006, reason: '', wasClean: false });
    }
  }

  #receive(event: SocketEvent): void {
    if (this.#hasReceivedClose) return;
    if (this.#sink === undefined) this.#waiting.push(event);
    else this.#arrive(event);
  }

  #arrive(event: SocketEvent): void {
    if (event.type === 'close') {
      this.#hasReceivedClose = true;
      this.#isLost ||= !event.wasClean && !this.#isClosing;
    }
    this.#sink!(event);
  }
}
