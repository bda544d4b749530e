// Runs the list of a device in a worker with the device's name, and keeps it the same as the list of the server.

import { follow } from '../../packages/follow/copy/follow.ts';
import { serve } from '../../worker/start/entries/objects.ts';
import { NetworkSocket } from './network-socket.ts';
import { ShoppingList } from './shopping-list.ts';

const following = follow({
  ShoppingList: { url: (name) => name, connect: (name) => new NetworkSocket(self.name, name) },
});
serve({ ShoppingList }, { follow: following });
