// One end of a connection, as comlink wants it: a MessagePort to one's own page or worker, a
// BroadcastChannel that only these two have to another tab's. It names no type of comlink, which is
// bundled: the types of the package must not need it.
//
// Keeps true: after close() posting does nothing. comlink posts a release message when its proxies
// are collected, which may be long after, and a closed BroadcastChannel would throw.

/** What a MessagePort and a BroadcastChannel have in common. */
export interface WireChannel {
  postMessage(message: unknown): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject): void;
  removeEventListener(type: string, listener: EventListenerOrEventListenerObject): void;
  /** A port delivers nothing before. */
  start?(): void;
  close(): void;
}

export class ChannelEndpoint {
  readonly #channel: WireChannel;
  #isClosed = false;

  constructor(channel: WireChannel) {
    this.#channel = channel;
    channel.start?.();
  }

  // Nothing is transferred: a channel cannot, and what is sent here is small or must be kept.
  postMessage(message: unknown): void {
    if (!this.#isClosed) this.#channel.postMessage(message);
  }

  addEventListener(type: string, listener: EventListenerOrEventListenerObject): void {
    this.#channel.addEventListener(type, listener);
  }

  removeEventListener(type: string, listener: EventListenerOrEventListenerObject): void {
    this.#channel.removeEventListener(type, listener);
  }

  /** Idempotent. */
  close(): void {
    this.#isClosed = true;
    this.#channel.close();
  }
}
