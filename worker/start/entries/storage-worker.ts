// The script of the worker of `openStorage`, which serves objects without classes.

import { storageRealm } from '../../realm/globals/realm.ts';
import { startBrowserWorker } from '../boot/browser-worker.ts';

startBrowserWorker({ realm: storageRealm });
