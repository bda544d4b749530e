// The worker of `openStorage`: objects without classes.

import { serveHost } from '../boot/browser-worker.ts';

serveHost({});
