// Sends the page's calls to running objects and returns the answers as plain text, which is the same whether the
// objects run in this origin or in a sandbox.
//
// Invariant: every text and list has a limit, because the page shows them: code may answer with anything.

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
  /** The name of the object, or its id if it has no name. */
  readonly name: string;
  readonly id: string;
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
  /** Opens a socket and closes the one that was open before. */
  openSocket(target: Target, url: string, hear: (line: string) => void): Promise<Answer>;
  send(text: string): Promise<void>;
  objects(classNames: readonly string[]): Promise<ObjectLine[]>;
  /** Returns the time that the objects see, in milliseconds. */
  now(): Promise<number>;
  advance(durationMs: number): Promise<void>;
  /** Runs the next alarm and resolves to its object; null means that no alarm is set. */
  runNextAlarm(): Promise<Target | null>;
  /** Makes the objects' clock follow the system's time again. */
  resume(): Promise<void>;
}

/** The members of a connection, or of objects in this thread, that calls need. */
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

/** How many letters a text may have, by its use. */
export const LETTERS = {
  /** The limit of the name of a class or a type, and of a code. */
  word: 200,
  /** The limit of an object's name; longer names are cut in the list. */
  name: 4000,
  /** The limit of one line of the console or of a socket. */
  line: 4000,
  /** The limit of an error's message and of its stack. */
  message: 10_000,
  /** The limit of a value, formatted as JavaScript. */
  value: 100_000,
} as const;

/** How many objects are listed at most. */
export const LINES_MAX = 1000;

const OBJECTS_MAX = 200;

export function shortened(text: string, lettersMax: number): string {
  return text.length > lettersMax ? `${text.slice(0, lettersMax - 1)}…` : text;
}

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
      const found = (await Promise.all(lists)).flat().slice(0, LINES_MAX);
      return found.map(({ className, id, sizeBytes, nextAlarm }) => ({
        className,
        name: shortened(id.name ?? id.toString(), LETTERS.name),
        id: id.toString(),
        sizeBytes,
        nextAlarm,
      }));
    },
    now: () => running.clock.now(),
    advance: (durationMs) => running.clock.advance(durationMs),
    async runNextAlarm() {
      const ran = await running.clock.runNextAlarm();
      if (ran === null) return null;
      const name = shortened(ran.id.name ?? ran.id.toString(), LETTERS.name);
      return { className: ran.className, name };
    },
    resume: () => running.clock.resume(),
  };
}

async function answer(action: () => Promise<unknown>): Promise<Answer> {
  try {
    const value = await action();
    const text = shortened(formatValue(value), LETTERS.value);
    return { kind: 'value', text, type: shortened(describeType(value), LETTERS.word) };
  } catch (error) {
    return { kind: 'failed', failure: failureOf(error) };
  }
}

export function failureOf(error: unknown): Failure {
  const { code, name, message, stack } = (
    error instanceof Error ? error : { code: 'thrown', message: error }
  ) as Partial<Record<'code' | 'name' | 'message' | 'stack', unknown>>;
  return {
    code: shortened(String(typeof code === 'string' ? code : name), LETTERS.word),
    message: shortened(String(message), LETTERS.message),
    stack: shortened(String(stack ?? ''), LETTERS.message),
  };
}
