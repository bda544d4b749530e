// The asked classes, hosted as an app would host them.

import { provideHtmlRewriter } from '../../../packages/html-rewriter/html-rewriter.ts';
import { r2 } from '../../../packages/workers/bindings/index.ts';
import {
  DurableObject,
  RpcStub,
  RpcTarget,
  serve,
  WorkerEntrypoint,
} from '../../../worker/start/entries/objects.ts';
import { deskClass } from './desk.ts';
import { OTHER_ENV, otherOf, SERVICES, workerOf } from './entries.ts';
import { facetOf, innerOf } from './facet.ts';
import { htmlRewriterAll } from './html-rewriter.ts';
import { lineOf } from './line.ts';
import { postOf } from './post.ts';
import { r2All } from './r2-more.ts';
import { surfaceOf } from './surface.ts';
import { wordsOf } from './words.ts';

const bases = { DurableObject, RpcStub, RpcTarget, WorkerEntrypoint } as never;
const { Lobby, ...entries } = workerOf(bases);

class Bucket extends WorkerEntrypoint<{ R2: object }> {
  ask(): Promise<object> {
    return r2All(this.env.R2);
  }
}

provideHtmlRewriter();

class Html extends WorkerEntrypoint {
  ask(): Promise<object> {
    return htmlRewriterAll();
  }
}

serve(
  {
    Desk: deskClass(bases),
    Facet: facetOf(bases),
    Lobby,
    Line: lineOf(bases),
    Post: postOf(bases),
    Surface: { class: surfaceOf(bases) as never, compatibilityDate: '2026-07-01' },
    Words: wordsOf(bases),
  },
  {
    scriptName: 'main',
    compatibilityFlags: ['enable_nodejs_global_timers'],
    bindings: { R2: r2() },
    exports: { Bucket, Html, Inner: innerOf(bases), Lobby, ...entries },
    services: SERVICES,
    workers: { other: { exports: otherOf(bases), env: OTHER_ENV } },
  },
);
