// The worker of a device: its list follows that of the server. The name of the worker is that of the device.

import { follow } from '../../packages/follow/copy/follow.ts';
import { serve } from '../../worker/start/entries/objects.ts';
import { NetworkSocket } from './network-socket.ts';
import { ShoppingList } from './shopping-list.ts';

const following = follow({
  ShoppingList: { url: (name) => name, connect: (name) => new NetworkSocket(self.name, name) },
});
serve({ ShoppingList }, { follow: following });
