// The worker of a page that follows: a list that follows the server's, and one of a class that does not. The server's port
// is in the address of this script.

import { follow } from '../../../packages/follow/copy/follow.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { serve } from '../../../worker/start/entries/objects.ts';
import { listClass } from './list.ts';

// An emulated network tells the page alone that it is back; a real one tells the worker too.
new BroadcastChannel('network').onmessage = () => dispatchEvent(new Event('online'));

const port = new URL(location.href).searchParams.get('port');

export class Room extends listClass(DurableObject as never) {}
export class Plain extends listClass(DurableObject as never) {}
serve(
  { Room: Room as never, Plain: Plain as never },
  { follow: follow({ Room: (name) => `ws://127.0.0.1:${port}/${name}` }) },
);
