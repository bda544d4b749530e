// The limits behind one message a call.

import { serveStore } from './contender-worker.ts';
import { limitsStore } from './limits-store.worker.ts';

serveStore(({ name }) => limitsStore(name));
