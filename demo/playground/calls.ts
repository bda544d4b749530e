// What the page asks of running objects, with answers as plain text, so that it is the same whether they run in
// the visitor's own space or in a sandbox.

import type { DurableObjectNamespace, ObjectsClock, ObjectWebSocket } from '../../src/index.ts';
import { describeType, formatValue } from '../ui/js-literal.ts';

export interface Target {
  readonly className: string;
  readonly name: string;
}

export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly stack: string;
}

export type Answer =
  | { readonly kind: 'value'; readonly text: string; readonly type: string }
  | { readonly kind: 'failed'; readonly failure: Failure };

export interface ObjectLine {
  readonly className: string;
  readonly name: string;
  readonly sizeBytes: number;
  readonly nextAlarm: number | null;
}

export interface PlainRequest {
  readonly method: string;
  readonly url: string;
  readonly body: string;
}

export interface Calls {
  call(target: Target, method: string, args: readonly unknown[]): Promise<Answer>;
  fetch(target: Target, request: PlainRequest): Promise<Answer>;
  /** Opens the only socket there is; the one before is closed. */
  openSocket(target: Target, url: string, hear: (line: string) => void): Promise<Answer>;
  send(text: string): Promise<void>;
  objects(classNames: readonly string[]): Promise<ObjectLine[]>;
  /** The time of the objects, in milliseconds. */
  now(): Promise<number>;
  advance(durationMs: number): Promise<void>;
  /** Whose alarm ran; null: none is set. */
  runNextAlarm(): Promise<Target | null>;
  /** Back to the system's time. */
  resume(): Promise<void>;
}

/** The part of a connection, or of objects in this thread, that is used. */
export interface Running {
  readonly env: object;
  list(
    className: never,
    options: { limit: number },
  ): Promise<
    readonly {
      readonly className: string;
      readonly id: { readonly name?: string | undefined; toString(): string };
      readonly sizeBytes: number;
      readonly nextAlarm: number | null;
    }[]
  >;
  readonly clock: ObjectsClock;
}

const OBJECTS_MAX = 200;

export function callsOf(running: Running): Calls {
  let socket: ObjectWebSocket | null = null;
  const stubOf = ({ className, name }: Target) => {
    const namespace = Reflect.get(running.env, className) as DurableObjectNamespace<object>;
    return namespace.getByName(name);
  };
  return {
    call: (target, method, args) =>
      answer(async () => {
        const stub = stubOf(target) as unknown as Record<string, (...args: unknown[]) => unknown>;
        return stub[method]!(...args);
      }),
    fetch: (target, { method, url, body }) =>
      answer(async () => {
        const init = body === '' ? { method } : { method, body };
        const response = await stubOf(target).fetch(new URL(url, 'http://object/').href, init);
        const text = await response.text();
        return { status: response.status, type: response.headers.get('content-type'), text };
      }),
    openSocket: (target, url, hear) =>
      answer(async () => {
        socket?.close(1000);
        const headers = { Upgrade: 'websocket' };
        const { webSocket, status } = await stubOf(target).fetch(
          new URL(url, 'http://object/').href,
          { headers },
        );
        if (!webSocket) throw new Error(`fetch answered ${status}, without a socket.`);
        webSocket.addEventListener('message', (event) => {
          hear(`← ${String((event as MessageEvent).data)}`);
        });
        webSocket.addEventListener('close', (event) => {
          hear(`closed (${(event as CloseEvent).code})`);
        });
        webSocket.accept();
        socket = webSocket;
        return 'open';
      }),
    async send(text) {
      socket?.send(text);
    },
    async objects(classNames) {
      const lists = classNames.map((name) => running.list(name as never, { limit: OBJECTS_MAX }));
      return (await Promise.all(lists)).flat().map(({ className, id, sizeBytes, nextAlarm }) => ({
        className,
        name: id.name ?? id.toString(),
        sizeBytes,
        nextAlarm,
      }));
    },
    now: () => running.clock.now(),
    advance: (durationMs) => running.clock.advance(durationMs),
    async runNextAlarm() {
      const ran = await running.clock.runNextAlarm();
      return ran && { className: ran.className, name: ran.id.name ?? ran.id.toString() };
    },
    resume: () => running.clock.resume(),
  };
}

async function answer(action: () => Promise<unknown>): Promise<Answer> {
  try {
    const value = await action();
    return { kind: 'value', text: formatValue(value), type: describeType(value) };
  } catch (error) {
    return { kind: 'failed', failure: failureOf(error) };
  }
}

export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { code: 'thrown', message: String(error), stack: '' };
  const { code } = error as Error & { readonly code?: unknown };
  return {
    code: typeof code === 'string' ? code : error.name,
    message: error.message,
    stack: error.stack ?? '',
  };
}
