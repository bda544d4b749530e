// `ctx-storage/node`: the core's objects in Node, with the globals of packages.

import { wholeRealm } from '../../worker/realm/modules/whole-realm.ts';
import { installHtmlRewriter } from '../html-rewriter/html-rewriter.ts';

wholeRealm.extend(installHtmlRewriter);

export * from '../../worker/start/entries/node-objects.ts';
