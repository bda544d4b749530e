// The page's worker: its rooms follow those on the server that the page is from. Each person has copies of their own, in
// which what they say has their name at once.

import { serve } from 'ctx-storage/worker';
import { follow } from 'ctx-storage/worker/follow';
import { Room } from '../room.ts';
import { userName } from '../user.ts';

const url = (name: string) => `/room/${encodeURIComponent(name)}`;

async function identity(): Promise<string> {
  const name = await userName();
  if (name === undefined) throw new Error('Nobody has signed in on this device.');
  return name;
}

serve({ Room }, { follow: follow({ Room: { url, identity } }) });
