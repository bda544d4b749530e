// Request and Response of a scope where object code runs: what it puts on them stays on them.
//
// Browsers drop headers that only they may set on the network (Upgrade and Cookie of a request,
// Set-Cookie of a response), and Firefox has no stream as a request's body. Messages between objects
// are not the network. Where the engine keeps everything, as Node does, nothing is replaced.

import { replaceGlobal, undoAll } from '../io/replace-global.ts';
import { bodyOf, readThrough, takesStreams } from './http-message.ts';

type Scope = Pick<typeof globalThis, 'Request' | 'Response'>;

/** Dropped by every browser, from one kind of message or the other. */
const DROPPED = { cookie: 'a=b', 'set-cookie': 'a=b' };

/** Replaces the scope's classes where they drop something; the result undoes it. */
export function installMessages(scope: Scope): () => void {
  const { Request, Response } = scope;
  const drops = ({ headers }: Request | Response) => [...headers].length < 2;
  const undo: (() => void)[] = [];
  if (drops(new Request('http://object/', { headers: DROPPED }))) {
    undo.push(replaceGlobal(scope, 'Request', keptRequest(Request)));
  }
  if (drops(new Response(null, { headers: DROPPED }))) {
    undo.push(replaceGlobal(scope, 'Response', keptResponse(Response)));
  }
  return () => undoAll(undo);
}

function keptRequest(Native: typeof Request): typeof Request {
  const Kept: typeof Request = new Proxy(Native, {
    construct(target, [input, init], newTarget) {
      const maker = newTarget === Kept ? target : newTarget;
      const source = [init, input].find((one) => one instanceof Native) as Request | undefined;
      const headers = (init as RequestInit | undefined)?.headers ?? source?.headers;
      const stream = takesStreams() ? null : streamOf(input, init, Native);
      if (stream === null) return keep(Reflect.construct(target, [input, init], maker), headers);
      const { method, redirect, signal } = { ...membersOf(source), ...definedOf(init) };
      const url = input instanceof Native ? input.url : input;
      const members = { method, headers, redirect, signal };
      const request = Reflect.construct(target, [url, members], maker);
      const type = new Headers(headers).get('content-type');
      const holder = new Response(stream, {
        headers: type === null ? {} : { 'content-type': type },
      });
      return keep(readThrough(request, holder, UNGATED), headers);
    },
  });
  return Kept;
}

function keptResponse(Native: typeof Response): typeof Response {
  const Kept: typeof Response = new Proxy(Native, {
    construct(target, [body, init], newTarget) {
      const maker = newTarget === Kept ? target : newTarget;
      return keep(Reflect.construct(target, [body, init], maker), init?.headers);
    },
    get(target, name, receiver) {
      if (name !== 'json') return Reflect.get(target, name, receiver);
      return (data: unknown, init?: ResponseInit) => keep(Native.json(data, init), init?.headers);
    },
  });
  return Kept;
}

/** The body that the engine would not take: a stream, or one that another message holds. */
function streamOf(input: unknown, init: unknown, Native: typeof Request): ReadableStream | null {
  if (init instanceof Native) return bodyOf(init)?.stream ?? null;
  const { body } = (init ?? {}) as RequestInit;
  if (body !== undefined) return body instanceof ReadableStream ? body : null;
  // The engine hands on what it holds itself.
  const isHeld = input instanceof Native && Object.hasOwn(input, 'body');
  return isHeld ? (bodyOf(input)?.stream ?? null) : null;
}

function membersOf(request: Request | undefined): RequestInit {
  if (request === undefined) return {};
  const { method, redirect, signal } = request;
  return { method, redirect, signal };
}

function definedOf(init: unknown): RequestInit {
  if (init instanceof Request) return {};
  const members = Object.entries((init ?? {}) as RequestInit);
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
}

// What is read from a held body has come through the gate of the message it was taken from.
const UNGATED = { receive: <T>(start: () => Promise<T>) => start() };

/** The message with all headers that it was given, and those that it gets from now on. */
function keep<M extends Request | Response>(message: M, given: HeadersInit | undefined): M {
  const prototype = Object.getPrototypeOf(message) as object;
  const native = (name: string): unknown => Reflect.get(prototype, name, message);
  const first = new Headers(given);
  let kept: Headers | undefined;
  Object.defineProperty(message, 'headers', {
    get: () => {
      if (kept === undefined) {
        kept = first;
        for (const [name, value] of native('headers') as Headers) {
          if (!kept.has(name)) kept.set(name, value);
        }
      }
      return kept;
    },
    configurable: true,
  });
  const clone = Object.hasOwn(message, 'clone') ? message.clone : native('clone');
  Object.defineProperty(message, 'clone', {
    value: () => keep(Reflect.apply(clone as () => M, message, []), message.headers),
    configurable: true,
    writable: true,
  });
  return message;
}
