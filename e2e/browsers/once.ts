// The tag of tests whose result no browser changes: bundles, sizes, types, reports, the accessibility of markup.
//
// They run with the first browser only.

export const ONCE = '@once';
