// A room that follows one on a server, whose port is in the address of this script.

import { follow } from '../../../packages/follow/copy/follow.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { serve } from '../../../worker/start/entries/objects.ts';
import { roomClass } from './follow-room.ts';

const port = new URL(location.href).searchParams.get('port');

export class Room extends roomClass(DurableObject as never) {}
serve(
  { Room: Room as never },
  { follow: follow({ Room: (name) => `ws://127.0.0.1:${port}/${name}` }) },
);
