// npm run conformance -- <folder or file> [--out results.json] [--filter text] [--verbose]
//                        [--browser chromium|firefox|webkitgtk] [--medium opfs|indexeddb|memory]
//                        [--headed]
//
// Runs scenarios on our storage in a real browser, on the best medium that it has or on the one named, and
// compares their results with the expected ones. Without a folder, our own corpus.

import { STORAGE_MEDIA } from '../../../src/shared/contract/medium.ts';
import { startBrowser } from './browser-implementation.ts';
import { readCommandLine, runCommand } from './suite.ts';

const options = readCommandLine({
  browser: { type: 'string' },
  medium: { type: 'string' },
  headed: { type: 'boolean' },
});
const { browser = 'chromium', headed } = options.flags;
const medium = STORAGE_MEDIA.find((one) => one === options.flags.medium) ?? null;
if (medium === null && options.flags.medium !== undefined) {
  throw new Error(
    `conformance: --medium is ${STORAGE_MEDIA.join(', ')}, not ${options.flags.medium}.`,
  );
}
if (browser !== 'chromium' && browser !== 'firefox' && browser !== 'webkitgtk') {
  throw new Error(`conformance: --browser is chromium, firefox or webkitgtk, not ${browser}.`);
}
await runCommand(options, (corpus) =>
  startBrowser(corpus, { browser, medium, headed: headed === true }),
);
