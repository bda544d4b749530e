// Defines the realm of processes in Node. It has more globals than the realm of a page's worker, which must be small to
// download: packages extend it, and code outside of objects has `caches`.

import { OBJECT_GLOBALS } from '../globals/object-realm.ts';
import { Realm } from '../globals/realm.ts';
import { installEarlyCaches } from './early-caches.ts';

/** The realm of a Node process, or of a thread in it that runs objects. */
export const wholeRealm = new Realm(globalThis, [...OBJECT_GLOBALS, installEarlyCaches]);
