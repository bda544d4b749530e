// The parts of the worker that few pages use: comparing moments, reverting and merging, importing
// databases, thinning the history, MD5.
//
// A file of its own in the package, `late.js`, with everything that it needs: it shares no module with the worker that
// loads it, only the objects that are passed. Invariant: nothing here compares classes or constants of the two by
// identity, and nothing here keeps state.

export { md5 } from '@noble/hashes/legacy.js';
export { openForeign } from '../import/foreign-database.ts';
export { Folding } from '../log/folding.ts';
export { Comparison } from './comparison.ts';
export { mergeEach } from './merge.ts';
