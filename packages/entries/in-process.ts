// `ctx-storage/in-process`: the core's objects in this thread, with the globals of packages.

import { wholeRealm } from '../../worker/realm/modules/whole-realm.ts';
import { installHtmlRewriter } from '../html-rewriter/html-rewriter.ts';

wholeRealm.extend(installHtmlRewriter);

export * from '../../worker/start/entries/in-process.ts';
