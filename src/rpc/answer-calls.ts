// Answers a peer's calls of functions over a connection: comlink's expose() behind a guard.
//
// By itself, expose() lets a peer follow any path from the exposed object, including prototypes,
// and assign, construct and release there. It also drops the code of a thrown error. So comlink
// receives an endpoint that admits only calls of a known function with plain values, and a frozen
// object without a prototype, whose functions never throw. The guard answers everything else with
// an error.
//
// Invariant: no message makes this throw or reaches anything but the functions, and each message
// that has an id and is not a reply gets one outcome.

import { type Endpoint, expose } from 'comlink';
import { storageError } from '../contract/errors.ts';
import type { ChannelEndpoint } from './channel-endpoint.ts';
import { type Outcome, toWire } from './errors-on-wire.ts';

/** Must check its parameters, because the peer can send anything. */
export type Answerer = (...parameters: unknown[]) => unknown;

/** Most parameters of a call; no function takes more. */
const PARAMETERS_MAX = 4;

/** Types of comlink's replies to calls that this side has made. */
const REPLIES: ReadonlySet<unknown> = new Set(['RAW', 'HANDLER']);

/** Answers on the endpoint from now on. If a function throws, its error becomes the outcome. */
export function answerCalls(
  functions: Readonly<Record<string, Answerer>>,
  endpoint: ChannelEndpoint,
): void {
  const surface: Record<string, Answerer> = Object.create(null);
  for (const [name, answer] of Object.entries(functions)) surface[name] = settling(answer);
  expose(Object.freeze(surface), new GuardedEndpoint(new Set(Object.keys(surface)), endpoint));
}

/** The endpoint as comlink sees it: only well-formed calls arrive. */
class GuardedEndpoint implements Endpoint {
  readonly #names: ReadonlySet<unknown>;
  readonly #endpoint: ChannelEndpoint;

  constructor(names: ReadonlySet<unknown>, endpoint: ChannelEndpoint) {
    this.#names = names;
    this.#endpoint = endpoint;
  }

  addEventListener(type: string, listener: EventListenerOrEventListenerObject): void {
    const admit = typeof listener === 'function' ? listener : listener.handleEvent.bind(listener);
    this.#endpoint.addEventListener(type, (event) => {
      const request = requestIn((event as MessageEvent<unknown>).data);
      if (request === null) return;
      try {
        admit({ data: callIn(request, this.#names) } as unknown as Event);
      } catch (error) {
        this.#endpoint.postMessage(refusal(request.id, error));
      }
    });
  }

  /** Does nothing: comlink stops listening only after a release message, and none is admitted. */
  removeEventListener(): void {}

  /** A result that cannot be cloned becomes an outcome as well. */
  postMessage(message: { readonly id: string }): void {
    try {
      this.#endpoint.postMessage(message);
    } catch (error) {
      this.#endpoint.postMessage(refusal(message.id, error));
    }
  }
}

interface Request {
  readonly id: string;
  readonly type?: unknown;
  readonly path?: unknown;
  readonly argumentList?: unknown;
}

// A message without an id cannot be answered, and is not a call.
function requestIn(data: unknown): Request | null {
  if (typeof data !== 'object' || data === null) return null;
  const request = data as Partial<Request>;
  return typeof request.id === 'string' && !REPLIES.has(request.type) ? (request as Request) : null;
}

/** The call for comlink: a new message that contains only checked fields. */
function callIn({ id, type, path, argumentList }: Request, names: ReadonlySet<unknown>): Request {
  const isCall = type === 'APPLY' && Array.isArray(path) && path.length === 1;
  if (isCall && names.has(path[0])) {
    return { id, type, path: [path[0]], argumentList: plainValuesIn(argumentList) };
  }
  throw storageError(
    'INVALID_ARGUMENT',
    'A message asks for something that is not exposed; only functions of the protocol can be called.',
  );
}

function plainValuesIn(argumentList: unknown): object[] {
  if (!Array.isArray(argumentList) || argumentList.length > PARAMETERS_MAX) {
    throw storageError('INVALID_ARGUMENT', `A call has at most ${PARAMETERS_MAX} parameters.`);
  }
  const values: object[] = [];
  for (const parameter of argumentList as readonly { type?: unknown; value?: unknown }[]) {
    if (parameter?.type !== 'RAW') {
      throw storageError('INVALID_ARGUMENT', 'A parameter of a call is not a plain value.');
    }
    values.push({ type: 'RAW', value: parameter.value });
  }
  return values;
}

/** The function with failures as outcomes, because comlink would drop the error's code. */
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

function refusal(id: string, error: unknown): object {
  return { id, type: 'RAW', value: failure(error) };
}

function failure(error: unknown): Outcome {
  return { error: toWire(error) };
}
