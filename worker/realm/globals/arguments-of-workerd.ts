// `Request` and `Response` take what they take in workerd: a stream without `duplex`, a method in any case, and a body
// without a byte for a status that has none. An address must be absolute: object code has no page. A request keeps its
// `cf`.

import { cfOf, withCf } from '../../../src/shared/calls/http/request-parts.ts';
import { noteEncoded } from '../../../src/shared/calls/http/response-parts.ts';
import { replaceGlobal, undoAll } from '../../../src/shared/calls/io/replace-global.ts';
import { noteSource } from './body-lengths.ts';

/** Modes that workerd takes (1.20261117.1). */
const CACHE_MODES: readonly string[] = ['no-store', 'no-cache'];

type Scope = Pick<typeof globalThis, 'Request' | 'Response'>;

/** Statuses without a body (Fetch standard). */
const BODILESS: ReadonlySet<unknown> = new Set([204, 205, 304]);

/** For object code; other code gets the classes of the scope. The result undoes it. */
export function installArguments(scope: Scope, isObjectCode: () => boolean): () => void {
  const undo = [
    replaceGlobal(
      scope,
      'Request',
      taking(
        scope.Request,
        ([input, init]) => (isObjectCode() ? [absolute(input), requestInit(init)] : [input, init]),
        ([, init]) => (init as RequestInit | undefined)?.body,
        (request: Request, [input, init]) =>
          isObjectCode() ? withCf(request, cfOf(objectOf(init)) ?? cfOf(objectOf(input))) : request,
      ),
    ),
    replaceGlobal(
      scope,
      'Response',
      withJson(
        taking(
          scope.Response,
          ([body, init]) =>
            isObjectCode() &&
            isEmpty(body) &&
            BODILESS.has((init as ResponseInit | undefined)?.status)
              ? [null, init]
              : [body, init],
          ([body]) => body as BodyInit | null | undefined,
          (response: Response, [, init]) =>
            (init as { encodeBody?: unknown } | undefined)?.encodeBody === 'manual'
              ? noteEncoded(response)
              : response,
        ),
      ),
    ),
  ];
  return () => undoAll(undo);
}

/** The class, whose `json` makes a response of a known text. */
function withJson(Native: typeof Response): typeof Response {
  const json = (...given: [data?: unknown, init?: ResponseInit]) => {
    const [data, init] = given;
    if (given.length === 0) throw new TypeError('Response.json: 1 argument needed, 0 given.');
    const text = `${JSON.stringify(data)}`; // "undefined" for a value that JSON lacks, as in workerd
    const headers = new Headers(init?.headers);
    if (!headers.has('content-type')) headers.set('content-type', 'application/json');
    const { status = 200, statusText = '' } = init ?? {};
    return new Native(text, { status, statusText, headers });
  };
  return new Proxy(Native, {
    get: (target, name) => (name === 'json' ? json : Reflect.get(target, name)),
  });
}

/** The class, whose constructor is called with changed arguments, and whose messages are finished afterwards. */
function taking<Message extends Request | Response, Class extends new (...given: never) => Message>(
  Native: Class,
  change: (given: unknown[]) => unknown[],
  bodyIn: (given: unknown[]) => BodyInit | null | undefined,
  finish: (message: Message, given: unknown[]) => Message,
): Class {
  const Taking: Class = new Proxy(Native, {
    construct(target, given, newTarget) {
      const maker = newTarget === Taking ? target : newTarget;
      const message: Message = Reflect.construct(target, change(given), maker);
      return finish(noteSource(message, bodyIn(given)), given);
    },
  });
  return Taking;
}

function objectOf(given: unknown): object | null {
  return typeof given === 'object' ? given : null;
}

/** @throws TypeError */
function absolute(input: unknown): unknown {
  if (typeof input === 'string') {
    try {
      new URL(input);
    } catch {
      throw new TypeError(`Invalid URL: ${input}`);
    }
  }
  return input;
}

function requestInit(init: unknown): unknown {
  if (typeof init !== 'object' || init === null || init instanceof Request) return init;
  const { method, body, redirect, cache, integrity }: RequestInit = init;
  if (redirect === 'error') {
    throw new TypeError(
      'Invalid redirect value "error": workerd knows "follow" and "manual". Use "manual" and look at the status.',
    );
  }
  if (cache !== undefined && !CACHE_MODES.includes(cache)) {
    throw new TypeError(`Unsupported cache mode: ${cache}`);
  }
  if (integrity)
    throw new TypeError('workerd does not check the integrity of a response; compare its digest.');
  const changed = {
    ...(typeof method === 'string' && { method: method.toUpperCase() }),
    ...(body instanceof ReadableStream && { duplex: 'half' }),
  };
  // Its members may be inherited.
  return Object.assign(Object.create(init) as object, changed);
}

function isEmpty(body: unknown): boolean {
  return body === '' || (body as Partial<ArrayBuffer> | null | undefined)?.byteLength === 0;
}
