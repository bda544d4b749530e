// Runs the server of the devices page in a worker. On a real server, the same lines run on workerd or in Node.

import { followable } from '../../packages/follow/server/index.ts';
import { serve } from '../../worker/start/entries/objects.ts';
import { ShoppingList } from './shopping-list.ts';

const Followable = followable(ShoppingList, {
  authorize: () => 'visitor',
  methods: ['add', 'tick', 'remove', 'items'],
  version: 1,
});
serve({ ShoppingList: Followable });
