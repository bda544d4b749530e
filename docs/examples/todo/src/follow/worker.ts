// The page's worker: each person's list follows the one on the server that the page is from.

import { serve } from 'ctx-storage/worker';
import { follow } from 'ctx-storage/worker/follow';
import { TodoObject } from './todo-object.ts';
import { userName } from './user.ts';

async function identity(): Promise<string> {
  const name = await userName();
  if (name === undefined) throw new Error('Nobody has signed in on this device.');
  return name;
}

serve(
  { TodoObject },
  { follow: follow({ TodoObject: { url: (name) => `/list/${name}`, identity } }) },
);
