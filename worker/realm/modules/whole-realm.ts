// The globals that object code sees where nobody waits for a download: those of a page's worker, and those by which an
// entry extends this realm. Where the platform has no `caches`, code has them early.

import { OBJECT_GLOBALS } from '../globals/object-realm.ts';
import { Realm } from '../globals/realm.ts';
import { installEarlyCaches } from './early-caches.ts';

/** Of a process, or a thread with objects in it. */
export const wholeRealm = new Realm(globalThis, [...OBJECT_GLOBALS, installEarlyCaches]);
