// Implements one of the two ends of a socket. Messages sent at one end arrive at the other in order, and wait there until
// a sink receives them.
//
// The holder of an end may be code that has accepted it, an object that may be evicted while its sockets stay open, or a
// connection to a page. This file does not know which.

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

/** The `readyState` of a WebSocket. State 0 (connecting) does not occur, because both ends are connected from the start. */
export type ReadyState = 1 | 2 | 3;

export class SocketEnd {
  #other: SocketEnd | undefined;
  #waiting: SocketEvent[] = [];
  #sink: ((event: SocketEvent) => void) | undefined;
  /** True if a close was sent, or waits behind messages that are still to be sent. */
  #isClosing = false;
  /** True while this end asks the other end to send nothing. */
  #isHolding = false;
  #heldBack: (isHeld: boolean) => void = () => {};
  #isLost = false;
  #hasSentClose = false;
  #hasReceivedClose = false;
  #hasHeardClose = false;

  /** Makes two connected ends. */
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

  /** True if the other end has a sink, which receives messages. */
  get isHeard(): boolean {
    return this.#other?.isTaken === true;
  }

  /**
   * The state as the holder knows it. A close that arrived behind messages changes the state only when its own event is
   * delivered.
   */
  get readyState(): ReadyState {
    const isEnded = this.#hasHeardClose || this.#isLost;
    if (this.#isClosing && isEnded) return 3;
    return this.#isClosing || isEnded ? 2 : 1;
  }

  /** True if both ends have sent a close. */
  get isOver(): boolean {
    return this.#isClosing && this.#hasReceivedClose;
  }

  /**
   * Asks the other end to send nothing for now, or to continue. Events that the other end sends nevertheless arrive.
   */
  hold(isHeld: boolean): void {
    if (this.#isHolding === isHeld) return;
    this.#isHolding = isHeld;
    const other = this.#other;
    if (other !== undefined) other.#heldBack(isHeld);
  }

  /** True while the other end asks this end to send nothing. */
  get isHeld(): boolean {
    const other = this.#other;
    return other !== undefined && other.#isHolding;
  }

  /** Calls the listener whenever `isHeld` has changed. Replaces an earlier listener. */
  whenHeld(listener: (isHeld: boolean) => void): void {
    this.#heldBack = listener;
  }

  /** Records that the holder now handles the other end's close. */
  hearClose(): void {
    this.#hasHeardClose = true;
  }

  /**
   * Passes every event to the sink, beginning with those that have already arrived. Replaces an earlier sink.
   */
  take(sink: (event: SocketEvent) => void): void {
    this.#sink = sink;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const event of waiting) this.#arrive(event);
  }

  /** True if the connection was lost before this end closed it. Messages sent from now on are dropped without an error. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Announces that a close will be sent, after the messages that still wait. */
  announceClose(): void {
    this.#isClosing = true;
  }

  /** Sends an event. It is dropped after a close. */
  send(event: SocketEvent): void {
    if (this.#hasSentClose) return;
    if (event.type === 'close') {
      this.#isClosing = true;
      this.#hasSentClose = true;
    }
    const other = this.#other;
    if (other !== undefined) other.#receive(event);
  }

  /** Breaks the connection: both ends receive a close with code 1006. */
  break(): void {
    this.hold(false);
    this.#other?.hold(false);
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
