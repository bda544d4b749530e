// The worker of `openStorage`: objects without classes.

import { storageRealm } from '../../realm/globals/realm.ts';
import { startBrowserWorker } from '../boot/browser-worker.ts';

startBrowserWorker({ realm: storageRealm });
