// APIs that objects use next to storage: the same questions to one class in workerd and here.

import { describe, expect, test } from 'vitest';
import { DurableObject, RpcTarget } from '../../../worker/start/entries/node-objects.ts';
import { differs } from '../versions.ts';
import { askInNode } from './in-node.ts';
import { askInWorkerd } from './in-workerd.ts';
import { surfaceAll, surfaceOf } from './surface.ts';

describe('the surface beside storage', async () => {
  const [there, here] = await Promise.all([
    askInWorkerd({
      module: 'surface.ts',
      className: 'Surface',
      make: 'surfaceOf',
      ask: 'surfaceAll',
    }),
    askInNode('Surface', surfaceOf({ DurableObject, RpcTarget } as never), surfaceAll),
  ]);
  test.for(Object.keys(there))('[TWO8] %s', (what) => {
    if (differs(what)) expect(here[what]).not.toEqual(there[what]);
    else expect(here[what]).toEqual(there[what]);
  });
});
