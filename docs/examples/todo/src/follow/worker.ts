// The page's worker: its list follows the one on the server that the page is from.

import { serve } from 'ctx-storage/worker';
import { follow } from 'ctx-storage/worker/follow';
import { TodoObject } from './todo-object.ts';

serve({ TodoObject }, { follow: follow({ TodoObject: (name) => `/list/${name}` }) });
