// Answers a peer's calls of functions over a connection: comlink's expose() behind a guard.
//
// By itself, expose() lets a peer follow any path from the exposed object, including prototypes,
// and assign, construct and release there. It also drops the code of a thrown error. So comlink
// receives an endpoint that makes its messages from call messages, of a known function with plain
// values, and a frozen object without a prototype, whose functions never throw. The guard answers
// every other request with an error.
//
// Invariant: no message makes this throw or reaches anything but the functions, and each request gets
// one outcome.

import { type Endpoint, expose } from 'comlink';
import { eachOf } from '../contract/each-of.ts';
import { storageError } from '../contract/errors.ts';
import { type AnswerMessage, isRequest, type Request } from './call-messages.ts';
import type { ChannelEndpoint } from './channel-endpoint.ts';
import { type Outcome, toWire } from './errors-on-wire.ts';

/** Must check its parameters, because the peer can send anything. */
export type Answerer = (...parameters: unknown[]) => unknown;

/** Most parameters of a call; no function takes more. */
const PARAMETERS_MAX = 4;

/** Answers on the endpoint from now on. If a function throws, its error becomes the outcome. */
export function answerCalls(
  functions: Readonly<Record<string, Answerer>>,
  endpoint: ChannelEndpoint,
): void {
  const surface: Record<string, Answerer> = Object.create(null);
  for (const [name, answer] of Object.entries(functions)) surface[name] = settling(answer);
  expose(Object.freeze(surface), new GuardedEndpoint(new Set(Object.keys(surface)), endpoint));
}

/** The endpoint as expose() sees it: only well-formed calls arrive. */
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

/** The call as comlink's message. */
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

function failure(error: unknown): Outcome {
  return { error: toWire(error) };
}
