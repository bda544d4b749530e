// Serves the limits of limits-store.worker.ts to a page, which sends one message for each call.

import { serveStore } from './contender-worker.ts';
import { limitsStore } from './limits-store.worker.ts';

serveStore(({ name }) => limitsStore(name));
