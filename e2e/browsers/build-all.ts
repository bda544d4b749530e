// Builds the shared files of the end-to-end tests before they start: their pages, the libraries of these, and the demo.
//
//   E2E_BUILDS=<folder> npx tsx e2e/browsers/build-all.ts
//
// Without it the first tests do the same while the others wait.

import { buildDemo } from './demo-site.ts';
import { buildShared } from './server.ts';

await buildShared();
await buildDemo();
