// One end of a connection of two: what it sends arrives at the other, in order, and waits there
// until somebody takes it.
//
// Knows nothing of who holds it: code that has accepted it, an object whose sockets outlive its
// memory, or a side of a connection to a page.

/** What one end tells the other. */
export type SocketEvent =
  | { readonly type: 'message'; readonly data: string | ArrayBuffer }
  /** `wasClean` is false when the other side is gone without a word: code 1006. */
  | {
      readonly type: 'close';
      readonly code: number;
      readonly reason: string;
      readonly wasClean: boolean;
    };

/** WebSocket.readyState: 1, 2 or 3; there is no connecting. */
export type ReadyState = 1 | 2 | 3;

export class SocketEnd {
  #other: SocketEnd | undefined;
  #waiting: SocketEvent[] = [];
  #sink: ((event: SocketEvent) => void) | undefined;
  /** A close is on its way, or was sent. */
  #isClosing = false;
  #hasSentClose = false;
  #hasReceivedClose = false;

  /** Two ends that face each other. */
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

  /** Somebody takes what this end sends. */
  get isHeard(): boolean {
    return this.#other?.isTaken === true;
  }

  get readyState(): ReadyState {
    if (this.#isClosing && this.#hasReceivedClose) return 3;
    return this.#isClosing || this.#hasReceivedClose ? 2 : 1;
  }

  /** Hands over what has arrived, and from now on what arrives. A later taker replaces it. */
  take(sink: (event: SocketEvent) => void): void {
    this.#sink = sink;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const event of waiting) this.#arrive(event);
  }

  /** A close will be sent, behind what is on its way. */
  announceClose(): void {
    this.#isClosing = true;
  }

  /** Sends; nothing after a close, and nothing to an end that is gone. */
  send(event: SocketEvent): void {
    if (this.#hasSentClose) return;
    if (event.type === 'close') {
      this.#isClosing = true;
      this.#hasSentClose = true;
    }
    const other = this.#other;
    if (other !== undefined) other.#receive(event);
  }

  /** The connection is gone without a word: both ends are told. */
  break(): void {
    for (const end of [this, this.#other]) {
      if (end === undefined || end.#hasReceivedClose) continue;
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
    if (event.type === 'close') this.#hasReceivedClose = true;
    this.#sink!(event);
  }
}
