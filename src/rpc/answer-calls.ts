// Answers what a peer calls by name over a connection: comlink's expose() behind a guard.
//
// By itself, expose() lets a peer walk any path from the exposed object, prototypes included, and
// assign, construct and release there; and it sends a thrown error without its code. So comlink gets
// an endpoint that lets through only calls of one known function with plain values, and an object
// that is frozen, has no prototype, and whose functions never throw. The guard itself refuses
// everything else with an outcome.
//
// Keeps true: whatever the message, nothing is thrown, nothing but the functions is reached, and each
// message that has an id and is not a reply gets one outcome.

import { type Endpoint, expose } from 'comlink';
import { storageError } from '../contract/errors.ts';
import type { ChannelEndpoint } from './channel-endpoint.ts';
import { type Outcome, toWire } from './errors-on-wire.ts';

/** Checks its parameters itself: they are whatever the peer has sent. */
export type Answer = (...parameters: unknown[]) => unknown;

/** Most parameters of a call; no function here takes more. */
const PARAMETERS_MAX = 4;

/** Types of comlink's replies, which belong to the calls that this side has made. */
const REPLIES: ReadonlySet<unknown> = new Set(['RAW', 'HANDLER']);

/** Answers on the endpoint from now on; a function that throws gives an outcome with its error. */
export function answerCalls(
  functions: Readonly<Record<string, Answer>>,
  endpoint: ChannelEndpoint,
): void {
  const surface: Record<string, Answer> = Object.create(null);
  for (const [name, answer] of Object.entries(functions)) surface[name] = settling(answer);
  expose(Object.freeze(surface), new GuardedEndpoint(new Set(Object.keys(surface)), endpoint));
}

/** Comlink's view of the endpoint: well-formed calls come in, replies go out. */
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

  /** Only a release stops listening, and no release is let through. */
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

// Without an id nothing can be answered: a message of another kind, or nobody's.
function requestIn(data: unknown): Request | null {
  if (typeof data !== 'object' || data === null) return null;
  const request = data as Partial<Request>;
  return typeof request.id === 'string' && !REPLIES.has(request.type) ? (request as Request) : null;
}

/** The call as comlink is given it: a message made here, of checked fields only. */
function callIn({ id, type, path, argumentList }: Request, names: ReadonlySet<unknown>): Request {
  const isCall = type === 'APPLY' && Array.isArray(path) && path.length === 1;
  if (isCall && names.has(path[0])) {
    return { id, type, path: [path[0]], argumentList: plainValuesIn(argumentList) };
  }
  throw storageError(
    'INVALID_ARGUMENT',
    'A message asks for what is not shown to it; only the functions of the protocol can be called.',
  );
}

function plainValuesIn(argumentList: unknown): object[] {
  if (!Array.isArray(argumentList) || argumentList.length > PARAMETERS_MAX) {
    throw storageError('INVALID_ARGUMENT', `A call has at most ${PARAMETERS_MAX} parameters.`);
  }
  return Array.from(argumentList, (parameter: unknown) => {
    const isPlain =
      typeof parameter === 'object' &&
      parameter !== null &&
      Reflect.get(parameter, 'type') === 'RAW';
    if (isPlain) return { type: 'RAW', value: Reflect.get(parameter, 'value') };
    throw storageError('INVALID_ARGUMENT', 'A parameter of a call is not a plain value.');
  });
}

/** The function, whose failure is an outcome: comlink would strip the error of its code. */
function settling(answer: Answer): Answer {
  return async (...parameters) => {
    try {
      return await answer(...parameters);
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
