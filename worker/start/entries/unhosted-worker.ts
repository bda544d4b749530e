// The worker of a test's helper page: the storage of objects whose classes are in the app's worker. It leads only
// while no worker of the app does, which the page sees to.

import { UnhostedClasses } from '../../objects/instance/unhosted-classes.ts';
import { storageRealm } from '../../realm/globals/realm.ts';
import { startBrowserWorker } from '../boot/browser-worker.ts';

startBrowserWorker({ classes: new UnhostedClasses(), realm: storageRealm });
