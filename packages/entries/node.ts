// `ctx-storage/node`: the core's objects in Node, with the globals of packages.

import { installHtmlRewriter } from '@ctx-storage/html-rewriter';
import { wholeRealm } from '@ctx-storage/worker/realm';

wholeRealm.extend(installHtmlRewriter);

export * from '@ctx-storage/worker/node';
