// Runs the server of the devices page in a worker. On a real server, the same lines run on workerd or in Node.

import { followable } from '../../packages/follow/server/index.ts';
import { serve } from '../../worker/start/entries/objects.ts';
import { ShoppingList } from './shopping-list.ts';

const Followable = followable(ShoppingList, {
  // Only this page reaches its worker. A server asks who has signed in (docs/follow.md).
  authorize: () => 'visitor',
  methods: ['add', 'tick', 'remove', 'items'],
  version: 1,
});
serve({ ShoppingList: Followable });
