// Forged messages to the worker that leads, from another tab and from its own page.
//
// Checks: a call of an operation that exists is answered by outcomes, never by an error of comlink, by
// nothing, or by `{}`; a refusal has a code, and none is a defect; nothing shared is polluted; nothing
// is thrown where nobody catches it; and the worker still serves valid calls.

import { wrap } from 'comlink';
import { ChannelEndpoint } from '../../../src/shared/wire/channel-endpoint.ts';
import type { Outcome } from '../../../src/shared/wire/errors-on-wire.ts';
import type { StoragePeer } from '../../../src/shared/wire/protocol.ts';
import { CallingEndpoint } from '../../../src/shared/wire/remote-functions.ts';
import { LeadingWorker } from './leading-worker.ts';
import { type HostileMessage, MessageGrammar, type Operation } from './message-grammar.ts';
import { PollutionWatch } from './pollution.ts';
import type { Surface } from './surface.ts';

const MESSAGES_PER_CASE = 60;
const ANSWER_MS_MAX = 120_000;

export async function openMessages(): Promise<Surface> {
  const worker = await LeadingWorker.start('hostile');
  const pollution = new PollutionWatch();
  let clients = 0;
  const witness = new Witness(
    wrap<StoragePeer>(new CallingEndpoint(new ChannelEndpoint(worker.port))),
  );
  return {
    casesPerSeed: 1,
    async attack(draws) {
      const number = ++clients;
      const grammar = new MessageGrammar(draws, `object ${number}`);
      const connection = await Connection.open(worker, `client ${number}`);
      try {
        for (let i = 0; i < MESSAGES_PER_CASE; i++) {
          worker.hear(grammar.control(), draws.chance(0.5));
          const sent = grammar.next(connection.sessions);
          const fault = await connection.send(sent);
          const found = fault ?? pollution.found();
          if (found !== undefined) return `${found}, after ${inWords(sent.message)}`;
          if (connection.isClosed) return undefined;
        }
      } finally {
        connection.close();
      }
      return (await witness.fault()) ?? pollution.found();
    },
    close: () => worker.close(),
  };
}

/** A page that does as it should, all the time. */
class Witness {
  readonly #host: ReturnType<typeof wrap<StoragePeer>>;
  #session: number | undefined;
  #count = 0;

  constructor(host: ReturnType<typeof wrap<StoragePeer>>) {
    this.#host = host;
  }

  async fault(): Promise<string | undefined> {
    const answer = await within(this.#next());
    return answer === this.#count ? undefined : `the worker gave ${inWords(answer)} to a good page`;
  }

  /** Puts a count, and reads it again; the bytes are `count` as a stored integer. */
  async #next(): Promise<unknown> {
    if (this.#session === undefined) {
      const opened = await this.#host.open('witness');
      if (!('ok' in opened)) return opened;
      this.#session = opened.ok;
    }
    this.#count = (this.#count + 1) % 60;
    const value = Uint8Array.of(0xff, 15, 0x49, 2 * this.#count);
    const outcomes = await this.#host.execute(this.#session, [
      { op: 'put', entries: [['count', value]], unconfirmed: false },
      { op: 'get', keys: ['count'] },
    ]);
    const [, read] = outcomes;
    if (read === undefined || !('ok' in read)) return outcomes;
    return ((read.ok as Uint8Array[])[0]![3] ?? -1) / 2;
  }
}

/** Another tab's connection, whose messages are put together by hand. */
class Connection {
  readonly sessions: number[] = [];
  isClosed = false;
  readonly #channel: BroadcastChannel;
  readonly #answers = new Map<unknown, (answer: unknown) => void>();

  private constructor(channel: BroadcastChannel) {
    this.#channel = channel;
    channel.addEventListener('message', (event) => {
      const { data } = event as MessageEvent<{ type?: unknown } | unknown[]>;
      if (Array.isArray(data)) {
        this.#answers.get(data[0])?.(data);
      } else if (data.type === 'closed') {
        this.isClosed = true;
        for (const answer of this.#answers.values()) answer(CLOSED);
      }
    });
  }

  static async open(worker: LeadingWorker, client: string): Promise<Connection> {
    const channel = worker.openConnection(client);
    const accepted = new Promise<void>((resolve) => {
      channel.addEventListener('message', () => resolve(), { once: true });
    });
    await worker.admit(client);
    await accepted;
    const connection = new Connection(channel);
    // Handles to try things on.
    await connection.send({
      message: [0, 'open', [client]],
      operation: 'open',
      hasUnknownCall: false,
    });
    return connection;
  }

  /** Returns the fault of the answer, if there is one. */
  async send({ message, operation, hasUnknownCall }: HostileMessage): Promise<string | undefined> {
    if (operation === undefined) {
      this.#channel.postMessage(message);
      await new Promise((resolve) => setImmediate(resolve));
      return undefined;
    }
    const [id] = message as unknown[];
    const answered = new Promise((resolve) => this.#answers.set(id, resolve));
    this.#channel.postMessage(message);
    const answer = await within(answered);
    this.#answers.delete(id);
    if (answer === CLOSED) return undefined;
    return this.#judge(operation, hasUnknownCall, answer);
  }

  close(): void {
    this.#channel.postMessage({ type: 'closed' });
    this.#channel.close();
  }

  #judge(operation: Operation, hasUnknownCall: boolean, answer: unknown): string | undefined {
    if (answer === LATE) return `${operation} was not answered`;
    const [, value, ...more] = answer as unknown[];
    if (more.length > 0) return `${operation} was answered by ${inWords(answer)}`;
    if (operation === 'close' || operation === 'release') {
      return value === undefined ? undefined : faultOf(operation, value);
    }
    const outcomes = Array.isArray(value) ? value : [value];
    for (const outcome of outcomes) {
      const fault = faultOf(operation, outcome);
      if (fault !== undefined) return fault;
    }
    if (operation === 'open' && typeof outcomes[0].ok === 'number')
      this.sessions.push(outcomes[0].ok);
    if (hasUnknownCall && outcomes.every((outcome) => 'ok' in outcome)) {
      return 'a call that no worker knows was answered as if it had been made';
    }
    return undefined;
  }
}

const LATE = Symbol('late');
const CLOSED = Symbol('closed');

function faultOf(operation: string, value: unknown): string | undefined {
  const outcome = value as Outcome;
  if (typeof outcome === 'object' && outcome !== null && 'ok' in outcome) return undefined;
  if (typeof outcome !== 'object' || outcome === null || !('error' in outcome)) {
    return `${operation} was answered by ${inWords(value)}, which is not an outcome`;
  }
  const { name, properties } = outcome.error;
  const isCoded = typeof properties.code === 'string' && properties.code !== 'INTERNAL';
  return isCoded || name === 'DataCloneError' || properties.remote === true
    ? undefined
    : `${operation} failed with ${inWords(outcome.error)}`;
}

async function within<T>(work: Promise<T>): Promise<T | typeof LATE> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(() => resolve(LATE), ANSWER_MS_MAX);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

function inWords(value: unknown): string {
  try {
    return (
      JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? `${inner}n` : inner))?.slice(
        0,
        600,
      ) ?? 'nothing'
    );
  } catch {
    return String(value);
  }
}
