// The page's worker: its rooms follow those on the server that the page is from.

import { serve } from 'ctx-storage/worker';
import { follow } from 'ctx-storage/worker/follow';
import { Room } from '../room.ts';

serve({ Room }, { follow: follow({ Room: (name) => `/room/${encodeURIComponent(name)}` }) });
