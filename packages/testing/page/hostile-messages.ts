// Sends messages that no page of this package sends to the worker's end of a connection, in Node or in a browser. They
// are generated from a seed.
//
// Checked for every message: an array of three that begins with a number is a request, and gets exactly one answer, an
// outcome whose error has a code; any other message gets no answer; no prototype changes; no error is thrown uncaught;
// and the connection continues to serve a page.
//
// No message begins a transaction or closes the connection. A page may do both, but they would change the reply that
// the next message must get.

import fc from 'fast-check';
import { ChannelEndpoint } from '../../../src/shared/wire/channel-endpoint.ts';
import { WorkerEnd, type WorkerService } from '../../../src/shared/wire/worker-end.ts';
import { Draws } from './draws.ts';
import { call, MessageGenerator } from './hostile-generator.ts';

export interface HostileRun {
  readonly seed: number;
  /** The number of messages. */
  readonly count: number;
  /** Reports uncaught errors of this thread until the returned function is called. */
  readonly watch: (report: (error: unknown) => void) => () => void;
  /** Addresses of objects whose classes messages may name, in addition to invalid ones. */
  readonly addresses?: readonly unknown[];
}

export interface Violation {
  /** The message as text; null if no single message is the cause. */
  readonly message: string | null;
  readonly fact: string;
}

// This timer is the platform's, because a host in this thread replaces it later.
const { setTimeout } = globalThis;

/** The number of the first generated message. */
const FIRST_NUMBER = 1000;

/** The number of messages that are sent before their replies are awaited. */
const MESSAGES_PER_CHUNK = 50;

const ANSWERED = 'It was answered, and is no request.';

/** The longest time that replies are awaited, in turns of a timer. */
const TURNS_MAX = 1500;

/** Sends `count` messages to the host, and returns all violations of the rules. */
export async function sendHostileMessages(
  host: WorkerService,
  { seed, count, watch, addresses = [] }: HostileRun,
): Promise<Violation[]> {
  const violations: Violation[] = [];
  const unwatch = watch((error) => violations.push({ message: null, fact: `Uncaught: ${error}` }));
  const peer = new Peer(host);
  const before = describePrototypes();
  const session = await peer.open();
  const messages = fc
    .sample(fc.gen(), { seed, numRuns: count, unbiased: true })
    .map((choices) => new MessageGenerator(new Draws(choices), session, addresses))
    .map((generator, i) => generator.next(FIRST_NUMBER + i));
  for (let sent = 0; sent < count; sent += MESSAGES_PER_CHUNK) {
    const chunk = messages.slice(sent, sent + MESSAGES_PER_CHUNK);
    for (const { message, fact } of await peer.send(chunk)) {
      violations.push({ message: inWords(message), fact });
    }
    if (describePrototypes() !== before) {
      violations.push({ message: null, fact: 'A prototype of the language was changed.' });
      break;
    }
  }
  const fact = await peer.whyNotServing(session);
  if (fact !== null) violations.push({ message: null, fact });
  peer.close();
  unwatch();
  return violations;
}

/** A tab with code other than this package's, and the worker's end of its connection. */
class Peer {
  readonly #port: MessagePort;
  readonly #client: WorkerEnd;
  readonly #replies = new Map<unknown, unknown[]>();

  constructor(host: WorkerService) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port2;
    port2.onmessage = ({ data }) => {
      if (!Array.isArray(data)) return;
      this.#replies.set(data[0], [...this.#to(data[0]), data]);
    };
    this.#client = new WorkerEnd(host, new ChannelEndpoint(port1));
  }

  /** Opens a session. @throws Error when a well-formed call gets no result */
  async open(): Promise<unknown> {
    const id = 1;
    await this.#waitForReplies([call(id, 'open', ['hostile'])]);
    const [reply] = this.#to(id);
    const result = field(field(reply, '1'), 'ok');
    if (result === undefined) throw new Error('The host does not open an object.');
    return result;
  }

  /** Sends the messages, and returns the faults of the replies. */
  async send(messages: readonly unknown[]): Promise<{ message: unknown; fact: string }[]> {
    await this.#waitForReplies(messages);
    return messages.flatMap((message) => {
      const id = field(message, '0');
      if (!isRequest(message))
        return this.#to(id).length === 0 ? [] : [{ message, fact: ANSWERED }];
      const replies = this.#to(id);
      this.#replies.delete(id);
      const fact = wrong(message, replies);
      return fact === null ? [] : [{ message, fact }];
    });
  }

  /** Returns why the connection no longer serves a page, or null if it does. */
  async whyNotServing(session: unknown): Promise<string | null> {
    const id = 2;
    const entries = [['after', new Uint8Array([0xff, 0x0f, 0x30])]];
    const put = { op: 'put', entries, unconfirmed: false };
    await this.#waitForReplies([
      call(id, 'execute', [session, [put, { op: 'get', keys: ['after'] }]]),
    ]);
    const outcomes = field(this.#to(id)[0], '1');
    const kept = Array.isArray(outcomes) ? field(field(outcomes[1], 'ok'), '0') : undefined;
    return kept instanceof Uint8Array && kept.length === 3
      ? null
      : 'The connection serves no page.';
  }

  close(): void {
    this.#client.end();
    this.#port.close();
  }

  #to(id: unknown): unknown[] {
    return this.#replies.get(id) ?? [];
  }

  // Waits for the replies, which come in any order, and one more turn, in which a second reply would show.
  async #waitForReplies(messages: readonly unknown[]): Promise<void> {
    const ids = messages.filter(isRequest).map((message) => field(message, '0'));
    for (const message of messages) this.#port.postMessage(message);
    for (let turns = 0; turns < TURNS_MAX; turns++) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (ids.every((id) => this.#replies.has(id))) return;
    }
  }
}

function isRequest(message: unknown): boolean {
  return Array.isArray(message) && message.length === 3 && typeof message[0] === 'number';
}

function wrong(message: unknown, replies: readonly unknown[]): string | null {
  if (replies.length !== 1) return `${replies.length} replies, not 1.`;
  const value = field(replies[0], '1');
  const name = field(message, '1');
  if (WITHOUT_RESULT.has(name) && value === undefined) return null;
  const outcomes = name === 'execute' && Array.isArray(value) ? value : [value];
  const bad = outcomes.find((outcome) => !isOutcome(outcome, runsObjectCode(name)));
  return bad === undefined && !outcomes.includes(undefined)
    ? null
    : `The reply is not an outcome with a code: ${inWords(value)}`;
}

const WITHOUT_RESULT: ReadonlySet<unknown> = new Set(['cancel', 'close', 'release', 'closeLive']);

// Returns whether the operation runs an object's own code, whose errors have no error code.
function runsObjectCode(name: unknown): boolean {
  return name === 'call' || name === 'ask';
}

/** The members that the outcome of a call of an object has in addition. */
const EXTRA_OUTCOME_MEMBERS: ReadonlySet<string> = new Set(['incarnation', 'isBroken', 'reset']);

function isOutcome(outcome: unknown, mayBeForeign: boolean): boolean {
  const all = typeof outcome === 'object' && outcome !== null ? Object.keys(outcome) : [];
  const keys = all.filter((key) => !(mayBeForeign && EXTRA_OUTCOME_MEMBERS.has(key)));
  if (keys.length !== 1) return false;
  if (keys[0] === 'ok') return field(outcome, 'ok') !== undefined;
  const error = field(outcome, 'error');
  if (typeof field(error, 'message') !== 'string') return false;
  return mayBeForeign || typeof field(field(error, 'properties'), 'code') === 'string';
}

/** Describes the prototypes in words, so that a pollution changes the text. */
function describePrototypes(): string {
  return [Object, Function, Array, Promise, Map, Error, Uint8Array, String, Number]
    .map(({ prototype }) => Reflect.ownKeys(prototype).map(String).join())
    .join(';');
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

function inWords(message: unknown): string {
  try {
    const words = JSON.stringify(message, (_key, value: unknown) => {
      if (typeof value === 'bigint') return `${value}n`;
      if (Array.isArray(value) && value.length > 100) return `${value.length} elements`;
      return ArrayBuffer.isView(value) ? `${value.byteLength} bytes` : value;
    });
    return (words ?? String(message)).slice(0, 400);
  } catch {
    return `${Object.keys(message as object)}`; // The message is cyclic, or too long.
  }
}
