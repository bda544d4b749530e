// The globals that object code sees where nobody waits for a download: those of a page's worker, and `HTMLRewriter`, which
// a page's worker has only if its code names it. Where the platform has no `caches`, code has them early.

import { installHtmlRewriter } from '../../../packages/html-rewriter/html-rewriter.ts';
import { OBJECT_GLOBALS } from '../globals/object-realm.ts';
import { Realm } from '../globals/realm.ts';
import { installEarlyCaches } from './early-caches.ts';

/** Of a process, or a thread with objects in it. */
export const wholeRealm = new Realm(globalThis, [
  ...OBJECT_GLOBALS,
  installHtmlRewriter,
  installEarlyCaches,
]);
