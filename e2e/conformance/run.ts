// npm run conformance -- <folder or file> [--out results.json] [--filter text] [--verbose]
//                        [--browser chromium|firefox] [--headed]
//
// Runs scenarios on our storage in a real browser, on OPFS, and compares what they come to with
// what is expected. Without a folder, our own corpus.

import { startBrowser } from './browser-implementation.ts';
import { readCommandLine, runCommand } from './suite.ts';

const options = readCommandLine({ browser: { type: 'string' }, headed: { type: 'boolean' } });
const { browser = 'chromium', headed } = options.flags;
if (browser !== 'chromium' && browser !== 'firefox') {
  throw new Error(`conformance: --browser is chromium or firefox, not ${browser}.`);
}
await runCommand(options, (corpus) => startBrowser(corpus, { browser, headed: headed === true }));
