// Serves the IndexedDB contender from a worker.

import { serveStore } from './contender-worker.ts';
import { idbStore } from './idb-store.ts';

serveStore(({ name, variant }) => idbStore(name, variant!));
