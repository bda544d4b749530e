// Connects a device over the simulated network: a WebSocket whose other end is in network.ts.
//
// Invariant: all tabs hear the channel, but only the addressee of a message handles it.

/** The name of the channel between the devices' workers and the page that simulates the network. */
export const NETWORK = 'demo-devices-network';

export interface NetworkMessage {
  /** The id of the connection that the message belongs to. */
  readonly id: string;
  readonly toDevice: boolean;
  readonly content:
    | { readonly kind: 'open'; readonly device: string; readonly name: string }
    | { readonly kind: 'opened' | 'closed' }
    | { readonly kind: 'data'; readonly data: Uint8Array | string };
}

const OPEN = 1;
const CLOSED = 3;

export class NetworkSocket extends EventTarget {
  binaryType = 'blob';
  readyState = 0;
  readonly #id = crypto.randomUUID();
  readonly #channel = new BroadcastChannel(NETWORK);

  constructor(device: string, name: string) {
    super();
    this.#channel.addEventListener('message', ({ data }: MessageEvent<NetworkMessage>) => {
      if (data.toDevice && data.id === this.#id) this.#receive(data.content);
    });
    this.#post({ kind: 'open', device, name });
  }

  send(data: Uint8Array | string): void {
    if (this.readyState === OPEN) this.#post({ kind: 'data', data });
  }

  close(): void {
    if (this.readyState === CLOSED) return;
    this.#post({ kind: 'closed' });
    this.#end();
  }

  #receive(content: NetworkMessage['content']): void {
    if (content.kind === 'opened') {
      this.readyState = OPEN;
      this.dispatchEvent(new Event('open'));
    } else if (content.kind === 'data') {
      const { data } = content;
      const received = typeof data === 'string' ? data : data.slice().buffer;
      this.dispatchEvent(new MessageEvent('message', { data: received }));
    } else this.#end();
  }

  #end(): void {
    this.readyState = CLOSED;
    this.#channel.close();
    this.dispatchEvent(new Event('close'));
  }

  #post(content: NetworkMessage['content']): void {
    const message: NetworkMessage = { id: this.#id, toDevice: false, content };
    this.#channel.postMessage(message);
  }
}
