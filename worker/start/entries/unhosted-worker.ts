// The script of the worker of a test's helper page. It serves the storage of objects whose classes are in the app's worker,
// and leads only while no worker of the app does; the page makes sure of that.

import { UnhostedClasses } from '../../objects/instance/unhosted-classes.ts';
import { storageRealm } from '../../realm/globals/realm.ts';
import { startBrowserWorker } from '../boot/browser-worker.ts';

startBrowserWorker({ classes: new UnhostedClasses(), realm: storageRealm });
