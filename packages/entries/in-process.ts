// `ctx-storage/in-process`: the core's objects in this thread, with the globals of packages.

import { installHtmlRewriter } from '@ctx-storage/html-rewriter';
import { wholeRealm } from '@ctx-storage/worker/realm';

wholeRealm.extend(installHtmlRewriter);

export * from '@ctx-storage/worker/in-process';
