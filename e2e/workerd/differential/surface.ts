// The surface of workerd beside storage that objects use, asked from inside an object.

import { attempt, type Questions, type Untyped } from './surface-answers.ts';
import { CACHES } from './surface-caches.ts';
import { bodiless, CALLS, CHUNKS, ERRORS, NO_CHUNKS, receiver, streamOf } from './surface-calls.ts';
import { FACTS } from './surface-facts.ts';
import { PLATFORM } from './surface-platform.ts';
import { SOCKETS } from './surface-sockets.ts';
import { FIXED, filled, fixed, identity, STREAMS } from './surface-streams.ts';
import { STRICT } from './surface-strict.ts';

interface Bases {
  readonly DurableObject: new (ctx: never, env: never) => object;
  readonly RpcTarget: new () => object;
}

const QUESTIONS: Readonly<Record<string, Questions>> = {
  IdentityTransformStream: STREAMS,
  FixedLengthStream: FIXED,
  caches: CACHES,
  calls: CALLS,
  facts: FACTS,
  platform: PLATFORM,
  sockets: SOCKETS,
  strict: STRICT,
};

/** The class `Surface`. */
export function surfaceOf({ DurableObject, RpcTarget }: Bases) {
  class Target extends RpcTarget {
    ok() {
      return 'ok';
    }
    toJSON() {
      return 'a target';
    }
    get deep() {
      return {};
    }
    throwing(kind: string) {
      throw ERRORS[kind]!();
    }
  }

  return class Surface extends DurableObject {
    declare readonly ctx: Untyped;
    declare readonly env: { readonly Surface: Untyped };

    get peer() {
      return this.env.Surface.getByName('peer');
    }

    ask(subject: string, question: string) {
      return attempt(() => QUESTIONS[subject]![question]!(this));
    }

    #alarmed: (info: unknown) => void = () => {};
    readonly #alarm = new Promise((resolve) => {
      this.#alarmed = resolve;
    });

    echoed(stream: unknown) {
      return stream;
    }
    failure() {
      return Object.assign(new RangeError('failed'), { code: 7, own: 'kept' });
    }
    fail() {
      throw this.failure();
    }
    failThere() {
      return this.env.Surface.getByName('there').fail();
    }
    ok() {
      return 'ok';
    }
    toJSON() {
      return 'an object';
    }
    throwing(kind: string) {
      throw ERRORS[kind]!();
    }
    throwingThere(kind: string) {
      return this.env.Surface.getByName('there').throwing(kind);
    }
    call(callback: Untyped) {
      return callback();
    }
    function() {
      return function (this: unknown) {
        return receiver(this);
      };
    }
    target() {
      return new Target();
    }
    chunks(kind: string) {
      const chunk = { ...CHUNKS, ...NO_CHUNKS }[kind]!;
      return streamOf(chunk(), chunk());
    }
    response() {
      return new Response(null);
    }
    reset() {
      this.ctx.abort('enough');
    }
    detached() {
      const { abort } = this.ctx;
      abort('enough');
    }
    async setAlarm() {
      await this.ctx.storage.setAlarm(Date.now());
    }
    alarmed() {
      return this.#alarm;
    }
    alarm(info: Untyped) {
      this.#alarmed([
        info.constructor.name,
        Object.keys(info),
        Object.prototype.toString.call(info),
      ]);
    }
    deferred(how: string) {
      const { storage } = this.ctx;
      storage.sql.exec('CREATE TABLE IF NOT EXISTS p(id INTEGER PRIMARY KEY)');
      storage.sql.exec(
        'CREATE TABLE IF NOT EXISTS c(p INTEGER REFERENCES p(id) DEFERRABLE INITIALLY DEFERRED)',
      );
      const insert = () => {
        storage.sql.exec('INSERT INTO c VALUES (1)');
        return 'inserted';
      };
      if (how === 'sync') return storage.transactionSync(insert);
      if (how === 'async') return storage.transaction(async () => insert());
      return insert();
    }
    rows() {
      return this.ctx.storage.sql.exec('SELECT * FROM c').toArray();
    }

    async fetch(request: Request): Promise<Response> {
      const [, first, kind] = decodeURIComponent(new URL(request.url).pathname).split('/');
      switch (`/${first}`) {
        case '/throwing':
          throw ERRORS[kind!]!();
        case '/chunks':
          return new Response(this.chunks(kind!));
        case '/echo':
          return new Response(request.body);
        case '/bodiless':
          return bodiless(kind!);
        case '/bodiless-there':
          return this.env.Surface.getByName('there').fetch('http://surface/bodiless/null');
        case '/fixed':
          return new Response(filled(fixed(4), 'four').readable);
        case '/identity':
          return new Response(filled(identity(), 'four').readable);
        case '/short':
          return new Response(filled(fixed(5), 'four').readable);
        case '/piped':
          return new Response(new Response('piped').body!.pipeThrough(fixed(5)));
        case '/fail':
          throw this.failure();
        case '/text':
          return new Response('text');
        case '/null':
          return new Response(null);
        default:
          return Response.json([request.headers.get('content-length'), await request.text()]);
      }
    }
  };
}

/** The result of each question. */
export async function surfaceAll(objects: Untyped): Promise<Record<string, unknown>> {
  const seen: Record<string, unknown> = {};
  for (const [subject, questions] of Object.entries(QUESTIONS)) {
    for (const question of Object.keys(questions)) {
      const answer = objects.getByName('asked').ask(subject, question);
      seen[`${subject}: ${question}`] = await answer.catch(String);
    }
  }
  return seen;
}
