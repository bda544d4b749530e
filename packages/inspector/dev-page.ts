// The page /__ctx-storage of `ctx-storage dev`: it shows the inspector for the objects in the server's process.
//
// Invariant: it stores nothing in this browser. It connects as any page does to its worker, but the messages travel
// over a WebSocket to the server.

import { connect } from '@ctx-storage/core/page';
import { deserialize, serialize } from '@ctx-storage/core/values';
import { mountInspector } from './index.ts';

/** A worker at the other end of a WebSocket. When the socket closes, it fires `error`, as a worker that has failed. */
class SocketWorker extends EventTarget {
  readonly #socket: WebSocket;
  /** The messages that were sent before the socket was open. */
  #unsent: Uint8Array<ArrayBuffer>[] = [];

  constructor(address: URL) {
    super();
    this.#socket = new WebSocket(address);
    this.#socket.binaryType = 'arraybuffer';
    this.#socket.onopen = () => {
      for (const bytes of this.#unsent) this.#socket.send(bytes);
      this.#unsent = [];
    };
    this.#socket.onmessage = ({ data }) => {
      this.dispatchEvent(new MessageEvent('message', { data: deserialize(new Uint8Array(data)) }));
    };
    this.#socket.onclose = () => {
      this.dispatchEvent(new ErrorEvent('error', { message: 'the server has closed the socket' }));
    };
  }

  postMessage(message: unknown): void {
    if (isForLocalWorker(message)) return;
    const bytes = serialize(message);
    if (this.#socket.readyState === WebSocket.CONNECTING) this.#unsent.push(bytes);
    else this.#socket.send(bytes);
  }

  terminate(): void {
    this.#socket.close();
  }
}

/** Returns whether a message carries SQLite's WebAssembly, which only a worker in this browser needs. */
function isForLocalWorker(message: unknown): boolean {
  return (message as { readonly type?: unknown } | null)?.type === 'wasm';
}

const address = new URL(location.href.replace(/^http/, 'ws'));
try {
  const objects = await connect(() => new SocketWorker(address) as unknown as Worker, {
    // The app's own pages have the same origin and another worker, so this page needs another directory.
    directory: 'ctx-storage-dev',
  });
  mountInspector(document.body, { objects, clock: objects.clock });
} catch (error) {
  document.body.textContent = String(error);
}
