// A browser's WebSocket, as client libraries construct it, over the answers of an object's `fetch`.

import type { Ask } from './listener.ts';

interface Accepted {
  accept(): void;
  send(message: string | Uint8Array): void;
  close(): void;
  addEventListener(type: string, listener: (event: { readonly data: unknown }) => void): void;
}

/** A constructor of sockets that ask there. */
export function socketsOver(ask: Ask): new (address: string) => EventTarget {
  return class extends EventTarget {
    readonly OPEN = 1;
    readyState = 0;
    #socket: Accepted | undefined;

    constructor(address: string) {
      super();
      this.#open(address).catch(() => this.#end());
    }

    async #open(address: string): Promise<void> {
      const { webSocket } = await ask(address, { headers: { Upgrade: 'websocket' } });
      if (!webSocket) throw new Error('The answer has no socket.');
      const socket = webSocket as Accepted;
      this.#socket = socket;
      socket.addEventListener('message', ({ data }) => {
        this.dispatchEvent(Object.assign(new Event('message'), { data }));
      });
      socket.addEventListener('close', () => this.#end());
      socket.accept();
      this.readyState = 1;
      this.dispatchEvent(new Event('open'));
    }

    #end(): void {
      if (this.readyState === 3) return;
      this.readyState = 3;
      this.dispatchEvent(new Event('close'));
    }

    /** Messages sent after `close` are dropped, as in browsers. */
    send(message: string | Uint8Array): void {
      if (this.readyState === 1) this.#socket!.send(message);
    }

    close(): void {
      if (this.readyState === 1) this.#socket!.close();
      this.readyState = 2;
    }
  };
}
