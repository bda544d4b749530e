// The worker of `openStorage`: objects without classes.

import { serveHost } from './serve-host.ts';

serveHost({});
