// The JavaScript heaps of a page and of its workers, by Chromium's protocol.

import type { CDPSession, Page } from '@playwright/test';

export interface Heaps {
  readonly pageBytes: number;
  /** The heaps of the workers, in the order in which the workers were started. */
  readonly workerBytes: readonly number[];
}

/** A message of the protocol to a worker, and its reply. */
interface Reply {
  readonly id: number;
  readonly result?: { readonly usedSize?: number };
}

export class HeapReader {
  readonly #cdp: CDPSession;
  readonly #workers = new Set<string>();
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  #lastId = 0;

  private constructor(cdp: CDPSession) {
    this.#cdp = cdp;
  }

  static async attach(page: Page): Promise<HeapReader> {
    const cdp = await page.context().newCDPSession(page);
    const reader = new HeapReader(cdp);
    cdp.on('Target.attachedToTarget', ({ sessionId, targetInfo }) => {
      if (targetInfo.type === 'worker') reader.#workers.add(sessionId);
    });
    cdp.on('Target.detachedFromTarget', ({ sessionId }) => reader.#workers.delete(sessionId));
    cdp.on('Target.receivedMessageFromTarget', ({ message }) => {
      const reply = JSON.parse(message) as Reply;
      reader.#waiting.get(reply.id)?.(reply);
      reader.#waiting.delete(reply.id);
    });
    await cdp.send('Target.setAutoAttach', {
      autoAttach: true,
      waitForDebuggerOnStart: false,
      flatten: false,
    });
    return reader;
  }

  /** After a collection. */
  async read(): Promise<Heaps> {
    await this.#cdp.send('HeapProfiler.collectGarbage');
    const { usedSize: pageBytes } = await this.#cdp.send('Runtime.getHeapUsage');
    const workerBytes: number[] = [];
    for (const sessionId of this.#workers) {
      await this.#ask(sessionId, 'HeapProfiler.collectGarbage');
      const { result } = await this.#ask(sessionId, 'Runtime.getHeapUsage');
      workerBytes.push(result?.usedSize ?? 0);
    }
    return { pageBytes, workerBytes };
  }

  async #ask(sessionId: string, method: string): Promise<Reply> {
    const id = ++this.#lastId;
    const reply = new Promise<Reply>((resolve) => this.#waiting.set(id, resolve));
    const message = JSON.stringify({ id, method });
    await this.#cdp.send('Target.sendMessageToTarget', { sessionId, message });
    return await reply;
  }
}
