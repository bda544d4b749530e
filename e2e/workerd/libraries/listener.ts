// A client of an object's socket, which keeps its messages: the same code next to both engines.

interface Socket {
  accept(): void;
  send(text: string): void;
  close(code: number): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
}

/** Asks an object: `fetch` of its stub, or of the worker that routes to it. */
export type Ask = (
  url: string,
  init?: { readonly headers: Readonly<Record<string, string>> },
) => Promise<{ readonly webSocket?: unknown; json(): Promise<unknown> }>;

/** A conversation with an object; returns the messages it received, by name. */
export type Talk = (ask: Ask) => Promise<Record<string, unknown>>;

export class Listener {
  readonly heard: string[] = [];
  readonly #socket: Socket;

  static async join(ask: Ask, url: string): Promise<Listener> {
    const { webSocket } = await ask(url, { headers: { Upgrade: 'websocket' } });
    if (!webSocket) throw new Error('The answer has no socket.');
    return new Listener(webSocket as Socket);
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.heard.push(String(data)));
    socket.accept();
  }

  send(message: string | object): void {
    this.#socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  close(code: number): void {
    this.#socket.close(code);
  }

  /** Waits until this many messages were heard. */
  async hears(count: number): Promise<void> {
    while (this.heard.length < count) await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
