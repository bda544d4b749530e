// Facets of an object, and the exports they are made from: the same questions in workerd and here.

import { describe, expect, test } from 'vitest';
import { DurableObject, RpcTarget } from '../../../worker/start/entries/node-objects.ts';
import { differs } from '../versions.ts';
import { facetAll, facetOf, innerOf } from './facet.ts';
import { askInNode } from './in-node.ts';
import { askInWorkerd } from './in-workerd.ts';

const bases = { DurableObject, RpcTarget } as never;

describe('facets', async () => {
  const [there, here] = await Promise.all([
    askInWorkerd({
      module: 'facet.ts',
      className: 'Facet',
      make: 'facetOf',
      ask: 'facetAll',
      exports: { Inner: 'innerOf' },
    }),
    askInNode('Facet', facetOf(bases), facetAll, { Inner: innerOf(bases) }),
  ]);
  test.for(Object.keys(there))('[TWO10] %s', (what) => {
    if (differs(what)) expect(here[what]).not.toEqual(there[what]);
    else expect(here[what]).toEqual(there[what]);
  });
});
