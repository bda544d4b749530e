// Prints the digests of a few runs; a test compares them with those of its own process.

import { digestsOf } from './examples.ts';

console.log(JSON.stringify(await digestsOf(['1', '7', 'k3'])));
