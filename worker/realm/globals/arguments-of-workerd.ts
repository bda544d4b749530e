// Makes the constructors of `Request` and `Response` accept the same arguments as in workerd: a stream without `duplex`,
// a method in any case, and an empty body for a status that allows no body. URLs must be absolute, because object code
// has no page to resolve them against. A request keeps its `cf` properties.

import { cfOf, withCf } from '../../../src/shared/calls/http/request-parts.ts';
import { noteEncoded } from '../../../src/shared/calls/http/response-parts.ts';
import { replaceGlobal, undoAll } from '../../../src/shared/calls/io/replace-global.ts';
import { rememberSource } from './body-lengths.ts';

/** The cache modes that workerd 1.20261117.1 accepts. */
const SUPPORTED_CACHE_MODES: readonly string[] = ['no-store', 'no-cache'];

type Scope = Pick<typeof globalThis, 'Request' | 'Response'>;

/** The statuses for which the Fetch standard forbids a body. */
const STATUSES_WITHOUT_BODY: ReadonlySet<unknown> = new Set([204, 205, 304]);

/** Replaces both constructors. Code outside of objects still gets the native behaviour. Call the result to restore them. */
export function installWorkerdArguments(scope: Scope, isObjectCode: () => boolean): () => void {
  const undo = [
    replaceGlobal(
      scope,
      'Request',
      wrapConstructor(
        scope.Request,
        ([input, init]) =>
          isObjectCode() ? [requireAbsoluteUrl(input), convertRequestInit(init)] : [input, init],
        ([, init]) => (init as RequestInit | undefined)?.body,
        (request: Request, [input, init]) =>
          isObjectCode()
            ? withCf(request, cfOf(objectOrNull(init)) ?? cfOf(objectOrNull(input)))
            : request,
      ),
    ),
    replaceGlobal(
      scope,
      'Response',
      withJson(
        wrapConstructor(
          scope.Response,
          ([body, init]) =>
            isObjectCode() &&
            isEmpty(body) &&
            STATUSES_WITHOUT_BODY.has((init as ResponseInit | undefined)?.status)
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

/** Wraps the class so that `Response.json` builds its response from a string, whose length is known. */
function withJson(Native: typeof Response): typeof Response {
  const json = (...given: [data?: unknown, init?: ResponseInit]) => {
    const [data, init] = given;
    if (given.length === 0) throw new TypeError('Response.json: 1 argument needed, 0 given.');
    const text = `${JSON.stringify(data)}`; // workerd, too, writes "undefined" for a value that JSON cannot represent
    const headers = new Headers(init?.headers);
    if (!headers.has('content-type')) headers.set('content-type', 'application/json');
    const { status = 200, statusText = '' } = init ?? {};
    return new Native(text, { status, statusText, headers });
  };
  return new Proxy(Native, {
    get: (target, name) => (name === 'json' ? json : Reflect.get(target, name)),
  });
}

/** Wraps the class: `changeArguments` edits the constructor's arguments, `finish` edits each new message. */
function wrapConstructor<
  Message extends Request | Response,
  Class extends new (
    ...given: never
  ) => Message,
>(
  Native: Class,
  changeArguments: (given: unknown[]) => unknown[],
  findBody: (given: unknown[]) => BodyInit | null | undefined,
  finish: (message: Message, given: unknown[]) => Message,
): Class {
  const Wrapped: Class = new Proxy(Native, {
    construct(target, given, newTarget) {
      const constructed = newTarget === Wrapped ? target : newTarget;
      const message: Message = Reflect.construct(target, changeArguments(given), constructed);
      return finish(rememberSource(message, findBody(given)), given);
    },
  });
  return Wrapped;
}

function objectOrNull(given: unknown): object | null {
  return typeof given === 'object' ? given : null;
}

/** Returns the input. @throws TypeError if the input is a text that is not an absolute URL */
function requireAbsoluteUrl(input: unknown): unknown {
  if (typeof input === 'string') {
    try {
      new URL(input);
    } catch {
      throw new TypeError(`Invalid URL: ${input}`);
    }
  }
  return input;
}

function convertRequestInit(init: unknown): unknown {
  if (typeof init !== 'object' || init === null || init instanceof Request) return init;
  const { method, body, redirect, cache, integrity }: RequestInit = init;
  if (redirect === 'error') {
    throw new TypeError(
      'Invalid redirect value "error": workerd knows "follow" and "manual". Use "manual" and look at the status.',
    );
  }
  if (cache !== undefined && !SUPPORTED_CACHE_MODES.includes(cache)) {
    throw new TypeError(`Unsupported cache mode: ${cache}`);
  }
  if (integrity)
    throw new TypeError('workerd does not check the integrity of a response; compare its digest.');
  const changed = {
    ...(typeof method === 'string' && { method: method.toUpperCase() }),
    ...(body instanceof ReadableStream && { duplex: 'half' }),
  };
  // `init` may be a class instance with inherited members, which a spread would lose.
  return Object.assign(Object.create(init) as object, changed);
}

function isEmpty(body: unknown): boolean {
  return body === '' || (body as Partial<ArrayBuffer> | null | undefined)?.byteLength === 0;
}
