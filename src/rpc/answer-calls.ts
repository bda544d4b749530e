// Answers what a peer calls by name over a connection: comlink's message format, without comlink's
// access to whatever hangs on an object.
//
// comlink's own expose() lets a peer walk any path from the exposed object, prototypes included, and
// assign, construct and release there. Here a request is a call of one of the given functions with
// plain values; everything else is refused with an outcome. Whatever the message, nothing is thrown
// and nothing but the functions is reached.

import { storageError } from '../contract/errors.ts';
import type { ChannelEndpoint } from './channel-endpoint.ts';
import { toWire } from './errors-on-wire.ts';
import type { Outcome } from './protocol.ts';

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
  const known = new Map(Object.entries(functions));
  endpoint.addEventListener('message', (event) => {
    const request = requestIn((event as MessageEvent<unknown>).data);
    if (request !== null) void reply(request, known, endpoint);
  });
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

async function reply(
  request: Request,
  known: ReadonlyMap<string, Answer>,
  endpoint: ChannelEndpoint,
): Promise<void> {
  let value: unknown;
  try {
    value = await functionOf(request, known)(...parametersOf(request));
  } catch (error) {
    value = failure(error);
  }
  try {
    endpoint.postMessage({ id: request.id, type: 'RAW', value });
  } catch (error) {
    endpoint.postMessage({ id: request.id, type: 'RAW', value: failure(error) });
  }
}

function functionOf({ type, path }: Request, known: ReadonlyMap<string, Answer>): Answer {
  const isCall = type === 'APPLY' && Array.isArray(path) && path.length === 1;
  const answer = isCall ? known.get(path[0]) : undefined;
  if (answer !== undefined) return answer;
  throw storageError(
    'INVALID_ARGUMENT',
    'A message asks for what is not shown to it; only the functions of the protocol can be called.',
  );
}

function parametersOf({ argumentList }: Request): unknown[] {
  if (!Array.isArray(argumentList) || argumentList.length > PARAMETERS_MAX) {
    throw storageError('INVALID_ARGUMENT', `A call has at most ${PARAMETERS_MAX} parameters.`);
  }
  return Array.from(argumentList, (parameter: unknown) => {
    const isPlain =
      typeof parameter === 'object' &&
      parameter !== null &&
      Reflect.get(parameter, 'type') === 'RAW';
    if (isPlain) return Reflect.get(parameter, 'value');
    throw storageError('INVALID_ARGUMENT', 'A parameter of a call is not a plain value.');
  });
}

function failure(error: unknown): Outcome {
  return { error: toWire(error) };
}
