// The classes that end-to-end tests call, hosted as an app would host them.

import type { ObjectWebSocket, RpcStub } from '../../../src/shared/contract/object.ts';
import { DurableObject, RpcTarget, serve } from '../../../worker/start/entries/objects.ts';

/** The types for a page: `window.api.connect<Classes>`. */
export interface Classes {
  Room: Room;
}

declare const WebSocketPair: new () => { 0: ObjectWebSocket; 1: ObjectWebSocket };

const ENDLESS =
  'WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT max(i) FROM c';

/** The effects of `step` in order, whichever room was called. */
const steps: string[] = [];

class Ticker extends RpcTarget {
  #count = 0;
  next(): number {
    this.#count += 1;
    return this.#count;
  }
}

class CodedError extends Error {
  override name = 'CodedError';
  code = 'E_CODED';
}

export class Room extends DurableObject<{ Room: { getByName(name: string): Room } }> {
  readonly #made = crypto.randomUUID();
  #listener: RpcStub<(event: string) => void> | undefined;
  #reads = 0;

  add(by: number): number {
    const sum = (this.ctx.storage.kv.get<number>('sum') ?? 0) + by;
    this.ctx.storage.kv.put('sum', sum);
    return sum;
  }

  /** For live reads: the sum of the entries that `add` has stored. */
  sum(): number {
    return this.ctx.storage.kv.get<number>('sum') ?? 0;
  }

  /** Returns the sum and counts the call: a live read of it shows as reads. */
  countedSum(): number {
    this.#reads += 1;
    return this.sum();
  }

  reads(): number {
    return this.#reads;
  }

  /** Goes on in microtasks after it has answered. */
  step(name: string): void {
    steps.push(name);
    void (async () => {
      for (let i = 0; i < 20; i++) await null;
      steps.push(`${name}, after`);
    })();
  }

  /** The effects of `step` since the last call. */
  steps(): string[] {
    return steps.splice(0);
  }

  /** Differs for each instance. */
  made(): string {
    return this.#made;
  }

  echo(value: unknown): unknown {
    return value;
  }

  fail(): never {
    throw new CodedError('coded');
  }

  reset(): void {
    this.ctx.abort('by the test');
  }

  listen(listener: RpcStub<(event: string) => void>): void {
    this.#listener = listener.dup();
  }

  async say(event: string): Promise<void> {
    await this.#listener?.(event);
  }

  wait(): Promise<never> {
    return new Promise(() => {});
  }

  async remind(inMs: number): Promise<void> {
    await this.ctx.storage.setAlarm(Date.now() + inMs);
  }

  alarm(): void {
    this.ctx.storage.kv.put('reminded at', Date.now());
  }

  remindedAt(): number | undefined {
    return this.ctx.storage.kv.get<number>('reminded at');
  }

  /** Takes 60,000 bytes of the disk, in one commit with the sum. */
  fill(name: string): number {
    this.ctx.storage.kv.put(name, crypto.getRandomValues(new Uint8Array(60_000)));
    return this.add(1);
  }

  filled(): number {
    return [...this.ctx.storage.kv.list({ prefix: 'fill ' })].length;
  }

  /** Runs a statement without end; returns the code of the error that ends it. */
  async search(): Promise<string> {
    const before = await this.ctx.storage.get<number>('sum');
    try {
      this.ctx.storage.sql.exec(ENDLESS).toArray();
      return `ended after ${before}`;
    } catch (error) {
      const { code } = error as { code: string };
      this.ctx.storage.kv.put('search', code);
      return code;
    }
  }

  searched(): string | undefined {
    return this.ctx.storage.kv.get<string>('search');
  }

  ticker(): Ticker {
    return new Ticker();
  }

  async addToOther(name: string, by: number): Promise<number> {
    return this.env.Room.getByName(name).add(by);
  }

  webSocketMessage(socket: ObjectWebSocket, message: string): void {
    this.ctx.storage.kv.put('heard', message);
    socket.send(`heard ${message}`);
  }

  webSocketClose(_socket: ObjectWebSocket, code: number, reason: string): void {
    this.ctx.storage.kv.put('closed', `${code} ${reason}`);
  }

  closed(): string | undefined {
    return this.ctx.storage.kv.get<string>('closed');
  }

  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === '/socket') {
      const { 0: client, 1: server } = new WebSocketPair();
      this.ctx.acceptWebSocket(server);
      return new Response(null, { status: 101, webSocket: client } as ResponseInit);
    }
    if (pathname === '/upper') {
      const upper = new TransformStream<string, string>({
        transform: (text, controller) => controller.enqueue(text.toUpperCase()),
      });
      const body = request
        .body!.pipeThrough(new TextDecoderStream() as never)
        .pipeThrough(upper)
        .pipeThrough(new TextEncoderStream());
      return new Response(body, { headers: { 'X-From': 'room' } });
    }
    if (pathname === '/forward' && this.ctx.id.name !== 'forwarded') {
      return this.env.Room.getByName('forwarded').fetch(request);
    }
    if (pathname === '/network') {
      const address = new URL(request.url).searchParams.get('to')!;
      return fetch(new Request(address, request));
    }
    if (pathname === '/download') return new Response(numbers(8 * 1024 * 1024));
    return Response.json({
      method: request.method,
      text: await request.text(),
      upgrade: request.headers.get('upgrade'),
    });
  }
}

/** Numbers of four bytes, from 0 on. */
function numbers(byteLength: number): ReadableStream<Uint8Array> {
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      const chunk = Uint32Array.from({ length: 16_384 }, (_, i) => sent / 4 + i);
      controller.enqueue(new Uint8Array(chunk.buffer));
      sent += chunk.byteLength;
      if (sent >= byteLength) controller.close();
    },
  });
}

serve({ Room });
