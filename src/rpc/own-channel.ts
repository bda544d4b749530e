// A connection over the channel that a worker has with the page that started it. A message port would carry it as
// well, and costs more: in Firefox 153 its messages pass through another process, so that one there and back takes
// 200 to 700 µs instead of 60 to 100, and one of 128 KiB 5 ms instead of 0.1; in Chromium 156 it is about 10 µs.
//
// Invariant: the app may use the channel too. Every message carries the connection's name; others are left alone, and
// listeners that the app adds later do not hear those of the connection.

import type { WireChannel } from './channel-endpoint.ts';

/** A worker, as its page has it, or the worker's own global scope. */
export interface ChannelHost {
  postMessage(message: unknown, moved?: ArrayBuffer[]): void;
  addEventListener(type: string, listener: (event: Event) => void): void;
  removeEventListener(type: string, listener: (event: Event) => void): void;
}

type Listeners = Readonly<Record<'message' | 'messageerror', Set<(event: Event) => void>>>;

type NamedMessage = readonly [name: string, message: unknown];

export class OwnChannel implements WireChannel {
  readonly #host: ChannelHost;
  readonly #name: string;
  readonly #listeners: Listeners = { message: new Set(), messageerror: new Set() };
  readonly #hear = (event: Event) => {
    const { data } = event as MessageEvent<unknown>;
    if (!this.#isNamed(data)) return;
    event.stopImmediatePropagation();
    this.#tell('message', { data: data[1] } as unknown as Event);
  };
  // Whose message could not be read is not known.
  readonly #hearError = (event: Event) => this.#tell('messageerror', event);

  /** `name`: of this connection, on both sides, and of no other. */
  constructor(host: ChannelHost, name: string) {
    this.#host = host;
    this.#name = name;
    host.addEventListener('message', this.#hear);
    host.addEventListener('messageerror', this.#hearError);
  }

  postMessage(message: unknown, moved: ArrayBuffer[] = []): void {
    const named: NamedMessage = [this.#name, message];
    this.#host.postMessage(named, moved);
  }

  addEventListener(type: keyof Listeners, listener: (event: Event) => void): void {
    this.#listeners[type].add(listener);
  }

  close(): void {
    this.#host.removeEventListener('message', this.#hear);
    this.#host.removeEventListener('messageerror', this.#hearError);
  }

  // Not dispatched as an event, which takes longer than what most calls do.
  #tell(type: keyof Listeners, event: Event): void {
    for (const listener of this.#listeners[type]) listener(event);
  }

  #isNamed(data: unknown): data is NamedMessage {
    return Array.isArray(data) && data.length === 2 && data[0] === this.#name;
  }
}
