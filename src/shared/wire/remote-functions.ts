// Functions that the two sides of a connection call on each other: how a call finds its function, and how its
// answer comes back. The functions themselves, and the checks of each, are in protocol.ts.
//
// comlink is for three things: wrap() pairs a call with its answer, expose() calls the function that a message
// names and waits for its result, and transfer() moves buffers with a message. The rest is our own. comlink's
// messages are objects with ids of 40 characters, which take 14 of the 100 µs of a `get`, and each of them travels
// alone: two endpoints make short arrays of them. expose() lets a peer follow any path from the exposed object,
// prototypes included, and assign, construct and release there: the guard passes on calls of known functions only,
// with plain values. A thrown error loses its code: a function answers with an outcome. A call waits forever when
// the peer dies: all calls of a connection fail together. Proxies of functions, and their release, need message
// ports, which cannot be sent to another tab: the membrane (src/shared/calls/membrane) passes references by number.
//
// Invariant: a function receives parameters that have passed its checks, and each request gets one outcome; no
// message makes this throw, or reaches anything but the functions. A caller gets an answer of the type that it
// expects, whatever the peer sends, or the reason why the connection ended. No assertion keeps this: it is about a
// peer's messages.

import { type Endpoint, expose, transfer, wrap } from 'comlink';
import { eachOf } from '../contract/arguments.ts';
import { storageError } from '../contract/errors.ts';
import {
  type AnswerMessage,
  type CallMessage,
  type ChannelEndpoint,
  isAnswer,
  isRequest,
  type Request,
  UnsentCall,
} from './channel-endpoint.ts';
import { type Outcome, toWire } from './errors-on-wire.ts';

/** Bytes whose buffer only this message uses, so that it can be transferred. */
export type OwnBytes = Uint8Array | null | undefined;

/** The size from which a buffer is transferred, in bytes. Copying a smaller buffer is as fast. */
const MOVED_BYTES_MIN = 2048;

export interface RemoteFunction<Parameters extends readonly unknown[], Result> {
  /** The checks of the parameters. Each returns its parameter, or throws the error that becomes the outcome. */
  readonly parameters: { readonly [I in keyof Parameters]: (value: unknown) => Parameters[I] };
  /** Converts any answer to a result of the expected type. */
  readonly answer: (answer: unknown, ...parameters: Parameters) => Result;
  /** Returns the bytes of the parameters that are transferred with the call. @default none */
  readonly movesIn?: (...parameters: Parameters) => readonly OwnBytes[];
  /** Returns the bytes of the result that are transferred with the answer. @default none */
  readonly movesOut?: (result: Result, ...parameters: Parameters) => readonly OwnBytes[];
}

/** The functions of a peer, each with its checks. */
export type Description<Peer> = {
  readonly [Name in keyof Peer]: Peer[Name] extends (
    ...parameters: infer Parameters
  ) => Promise<infer Result>
    ? RemoteFunction<Parameters, Result>
    : never;
};

/** The functions of a peer as its own side implements them. A result that is available at once needs no promise. */
export type Served<Peer> = {
  readonly [Name in keyof Peer]: Peer[Name] extends (
    ...parameters: infer Parameters
  ) => Promise<infer Result>
    ? (...parameters: Parameters) => Result | Promise<Result>
    : never;
};

type AnyDescription = Readonly<Record<string, RemoteFunction<readonly unknown[], unknown>>>;
type AnyPeer = Readonly<Record<string, (...parameters: unknown[]) => Promise<unknown>>>;

/** Answers the peer's calls of these functions. */
export function serveFunctions<Peer extends object>(
  description: Description<Peer>,
  functions: Served<Peer>,
  endpoint: ChannelEndpoint,
): void {
  const peer = functions as Readonly<Record<string, (...parameters: unknown[]) => unknown>>;
  const answers = Object.entries(description as AnyDescription).map(
    ([name, { parameters, movesOut }]): [string, Answerer] => [
      name,
      (...values) => {
        const checked = eachOf(parameters, (check, i) => check(values[i]));
        const answer = peer[name]!(...checked);
        return movesOut === undefined
          ? answer
          : whenAnswered(answer, (result) => moveWith(result, movesOut(result, ...checked)));
      },
    ],
  );
  answerCalls(Object.fromEntries(answers), endpoint);
}

/**
 * Makes functions that call those of the peer. Their promises reject only when `calls` fail.
 *
 * comlink releases a peer whose proxies were all garbage collected, so the result keeps them.
 */
export function remoteFunctions<Peer extends object>(
  description: Description<Peer>,
  endpoint: ChannelEndpoint,
  calls: PendingCalls,
): Peer {
  const remote = wrap(new CallingEndpoint(endpoint)) as unknown as AnyPeer;
  const functions = Object.entries(description as AnyDescription).map(([name, row]) => {
    const { answer, movesIn } = row;
    const call = remote[name]!;
    return [
      name,
      (...parameters: unknown[]) => {
        if (movesIn !== undefined) moveWith(parameters.at(-1), movesIn(...parameters));
        return calls.make(
          () => call(...parameters),
          (answered) => answer(answered, ...parameters),
        );
      },
    ];
  });
  return Object.fromEntries(functions) as Peer;
}

/** Calls `seen` with the result once it is available, and returns the answer. */
function whenAnswered(answer: unknown, seen: (result: unknown) => void): unknown {
  if (answer instanceof Promise) {
    return answer.then((result) => {
      seen(result);
      return result;
    });
  }
  seen(answer);
  return answer;
}

/** Marks bytes to be transferred with a part of a message when it is posted. */
export function moveWith(part: unknown, bytes: readonly OwnBytes[]): void {
  // The set is created on demand, because most messages transfer nothing.
  let buffers: Set<ArrayBuffer> | undefined;
  for (const own of bytes) {
    const buffer = own?.buffer;
    if (!(buffer instanceof ArrayBuffer) || buffer.byteLength < MOVED_BYTES_MIN) continue;
    buffers ??= new Set();
    buffers.add(buffer);
  }
  if (buffers !== undefined) transfer(part, [...buffers]);
}

/** A function that answers calls. It must check its parameters, because the peer can send anything. */
export type Answerer = (...parameters: unknown[]) => unknown;

/** The most parameters of a call. No function takes more. */
const PARAMETERS_MAX = 4;

/** Answers calls on the endpoint from now on. If a function throws, its error becomes the outcome. */
export function answerCalls(
  functions: Readonly<Record<string, Answerer>>,
  endpoint: ChannelEndpoint,
): void {
  const surface: Record<string, Answerer> = Object.create(null);
  for (const [name, answer] of Object.entries(functions)) surface[name] = settling(answer);
  expose(Object.freeze(surface), new GuardedEndpoint(new Set(Object.keys(surface)), endpoint));
}

/** Wraps the endpoint for expose(), and passes on only well-formed calls. */
class GuardedEndpoint implements Endpoint {
  readonly #names: ReadonlySet<unknown>;
  readonly #endpoint: ChannelEndpoint;

  constructor(names: ReadonlySet<unknown>, endpoint: ChannelEndpoint) {
    this.#names = names;
    this.#endpoint = endpoint;
  }

  addEventListener(_type: 'message', listener: EventListenerOrEventListenerObject): void {
    const admit = typeof listener === 'function' ? listener : listener.handleEvent.bind(listener);
    this.#endpoint.addEventListener('message', (event) => {
      const request = (event as MessageEvent<unknown>).data;
      if (!isRequest(request)) return;
      try {
        admit({ data: callOf(request, this.#names) } as unknown as Event);
      } catch (error) {
        this.#answer(request[0], failure(error));
      }
    });
  }

  /** Does nothing: comlink stops listening only after a release message, and none is admitted. */
  removeEventListener(): void {}

  postMessage(
    { id, value }: { readonly id: number; readonly value: unknown },
    moved?: ArrayBuffer[],
  ): void {
    this.#answer(id, value, moved);
  }

  #answer(number: number, value: unknown, moved?: ArrayBuffer[]): void {
    const answer: AnswerMessage = [number, value];
    this.#endpoint.postMessage(answer, moved);
  }
}

/** Converts a call to comlink's message. */
function callOf([id, name, parameters]: Request, names: ReadonlySet<unknown>): object {
  if (!names.has(name)) {
    throw storageError(
      'INVALID_ARGUMENT',
      'A message asks for something that is not exposed; only functions of the protocol can be called.',
    );
  }
  if (!Array.isArray(parameters) || parameters.length > PARAMETERS_MAX) {
    throw storageError('INVALID_ARGUMENT', `A call has at most ${PARAMETERS_MAX} parameters.`);
  }
  const argumentList = eachOf(parameters, (value) => ({ type: 'RAW', value }));
  return { id, type: 'APPLY', path: [name], argumentList };
}

/** Wraps the function so that an error becomes an outcome, because comlink would drop the error's code. */
function settling(answer: Answerer): Answerer {
  return (...parameters) => {
    try {
      const answered = answer(...parameters);
      return answered instanceof Promise ? answered.catch(failure) : answered;
    } catch (error) {
      return failure(error);
    }
  };
}

function failure(error: unknown): Outcome {
  return { error: toWire(error) };
}

/** The message that wrap() posts for a call of a function with plain values. */
interface ComlinkCall {
  readonly id: string;
  readonly type: string;
  readonly path: readonly string[];
  readonly argumentList: readonly { readonly value: unknown }[];
}

/** Wraps the endpoint for wrap(). Answers without a call, second answers and malformed messages are not passed on. */
export class CallingEndpoint implements Endpoint {
  readonly #endpoint: ChannelEndpoint;
  /** comlink's ids of the calls that wait for an answer, by their numbers. */
  readonly #ids = new Map<number, string>();
  #lastNumber = 0;

  constructor(endpoint: ChannelEndpoint) {
    this.#endpoint = endpoint;
  }

  postMessage({ id, type, path, argumentList }: ComlinkCall, moved?: ArrayBuffer[]): void {
    // comlink posts RELEASE after its proxies were garbage collected. It is dropped, because connections end otherwise.
    if (type !== 'APPLY') return;
    this.#lastNumber += 1;
    this.#ids.set(this.#lastNumber, id);
    const parameters = eachOf(argumentList, ({ value }) => value);
    const message: CallMessage = [this.#lastNumber, path[0]!, parameters];
    this.#endpoint.postMessage(message, moved);
  }

  addEventListener(_type: 'message', listener: EventListenerOrEventListenerObject): void {
    const answered =
      typeof listener === 'function' ? listener : listener.handleEvent.bind(listener);
    this.#endpoint.addEventListener('message', (event) => {
      const reply = this.#replyOf((event as MessageEvent<unknown>).data);
      if (reply !== null) answered({ data: reply } as unknown as Event);
    });
  }

  /** Does nothing: wrap() listens as long as the connection lasts. */
  removeEventListener(): void {}

  /** Converts an answer to comlink's reply; null if no call waits for it. */
  #replyOf(message: unknown): object | null {
    if (message instanceof UnsentCall) {
      const thrown = { isError: false, value: message.cause };
      return this.#reply(message.number, { type: 'HANDLER', name: 'throw', value: thrown });
    }
    return isAnswer(message) ? this.#reply(message[0], { type: 'RAW', value: message[1] }) : null;
  }

  #reply(number: number, value: object): object | null {
    const id = this.#ids.get(number);
    this.#ids.delete(number);
    return id === undefined ? null : { id, ...value };
  }
}

/** The unanswered calls of one connection. All of them fail together, with one reason; later calls reject with it at once. */
export class PendingCalls {
  /** The pending calls, each with the number of the last mark before it. */
  readonly #pending = new Map<(reason: Error) => void, number>();
  readonly #onCall: () => void;
  #failure: Error | null = null;
  #marks = 0;
  #passedMarks = 0;

  /** `onCall` is called before a call is posted. */
  constructor(onCall: () => void = () => {}) {
    this.#onCall = onCall;
  }

  /** True while a call waits for its answer. */
  get isWaiting(): boolean {
    return this.#pending.size > 0;
  }

  /** The reason why calls reject; null while calls can be made. */
  get failure(): Error | null {
    return this.#failure;
  }

  /** Sets a mark, which separates later calls from earlier ones. */
  mark(): void {
    this.#marks += 1;
  }

  /** Records that the peer has read everything before the next mark. */
  passMark(): void {
    this.#passedMarks = Math.min(this.#passedMarks + 1, this.#marks);
  }

  /**
   * Makes a call, which settles with the result of `read` for its answer, or rejects when the connection fails. `read`
   * must not throw. A peer answers with outcomes and never rejects, so a rejection means a defect of the peer, or an
   * argument that cannot be cloned.
   */
  make<T, R>(send: () => Promise<T>, read: (answer: T) => R): Promise<R> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    this.#onCall();
    const answered = new Promise<R>((resolve, reject) => {
      this.#pending.set(reject, this.#marks);
      send().then(
        (answer) => {
          this.#pending.delete(reject);
          resolve(read(answer));
        },
        (cause) => {
          this.#pending.delete(reject);
          reject(
            storageError('INTERNAL', `The call could not be sent or answered: ${cause}`, { cause }),
          );
        },
      );
    });
    return answered;
  }

  /**
   * Rejects all pending and future calls. Pending calls that the peer has certainly not read reject with `unread`. Later
   * calls of this method have no effect.
   */
  fail(reason: Error, unread = reason): void {
    if (this.#failure !== null) return;
    this.#failure = reason;
    for (const [reject, mark] of this.#pending) reject(mark > this.#passedMarks ? unread : reason);
    this.#pending.clear();
  }
}

/** Returns the answer if it is an outcome, without checking its result. Any other answer becomes the error INTERNAL. */
export function checkOutcome<T>(answer: unknown): Outcome<T> {
  if (typeof answer === 'object' && answer !== null && ('ok' in answer || 'error' in answer)) {
    return answer as Outcome<T>;
  }
  return { error: toWire(storageError('INTERNAL', 'The answer to the call is not an outcome.')) };
}

/** Returns one outcome for each of `count` calls. A single error becomes the outcome of all of them. */
export function checkOutcomes(answer: unknown, count: number): Outcome[] {
  if (Array.isArray(answer)) {
    const outcomes: Outcome[] = [];
    for (let i = 0; i < count; i++) outcomes.push(checkOutcome(answer[i]));
    return outcomes;
  }
  const outcome = checkOutcome(answer);
  return new Array(count).fill('error' in outcome ? outcome : checkOutcome(undefined));
}
