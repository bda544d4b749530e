// The asked classes, hosted as an app would host them.

import { DurableObject, RpcStub, RpcTarget, serve } from '../../../worker/start/entries/objects.ts';
import { deskOf } from './desk.ts';
import { facetOf, innerOf } from './facet.ts';
import { lineOf } from './line.ts';
import { postOf } from './post.ts';
import { surfaceOf } from './surface.ts';
import { wordsOf } from './words.ts';

const bases = { DurableObject, RpcStub, RpcTarget } as never;

serve(
  {
    Desk: deskOf(bases),
    Facet: facetOf(bases),
    Line: lineOf(bases),
    Post: postOf(bases),
    Surface: { class: surfaceOf(bases) as never, compatibilityDate: '2026-07-01' },
    Words: wordsOf(bases),
  },
  { exports: { Inner: innerOf(bases) } },
);
