// The asked classes, hosted as an app would host them.

import {
  DurableObject,
  RpcStub,
  RpcTarget,
  serve,
  WorkerEntrypoint,
} from '../../../worker/start/entries/objects.ts';
import { deskOf } from './desk.ts';
import { OTHER_ENV, otherOf, SERVICES, workerOf } from './entries.ts';
import { facetOf, innerOf } from './facet.ts';
import { lineOf } from './line.ts';
import { postOf } from './post.ts';
import { surfaceOf } from './surface.ts';
import { wordsOf } from './words.ts';

const bases = { DurableObject, RpcStub, RpcTarget, WorkerEntrypoint } as never;
const { Lobby, ...entries } = workerOf(bases);

serve(
  {
    Desk: deskOf(bases),
    Facet: facetOf(bases),
    Lobby,
    Line: lineOf(bases),
    Post: postOf(bases),
    Surface: { class: surfaceOf(bases) as never, compatibilityDate: '2026-07-01' },
    Words: wordsOf(bases),
  },
  {
    scriptName: 'main',
    exports: { Inner: innerOf(bases), Lobby, ...entries },
    services: SERVICES,
    workers: { other: { exports: otherOf(bases), env: OTHER_ENV } },
  },
);
