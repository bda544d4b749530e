// The worker of `openStorage`: objects without classes.

import { startBrowserWorker } from '../boot/browser-worker.ts';

startBrowserWorker({});
