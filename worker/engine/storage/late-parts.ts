// Exports the parts of the worker that few pages use: comparing moments, reverting and merging, importing databases,
// thinning the history, MD5.
//
// They are a separate file of the package, `late.js`. It shares no modules with the worker that loads it, only the
// objects that are passed to its functions. Invariant: this code does not compare classes or constants of the worker by
// identity, and keeps no state.

export { md5 } from '@noble/hashes/legacy.js';
export { openForeign } from '../import/foreign-database.ts';
export { Folding } from '../log/folding.ts';
export { Comparison } from './comparison.ts';
export { mergeEach } from './merge.ts';
