// npm run conformance:workerd -- <folder or file> [--out results.json] [--filter text] [--verbose]
//
// The same scenarios in real workerd, compared with the same expectations. With --both they are
// run in Chromium as well and both results are printed side by side: a doubt is settled by running.

import { startBrowser } from './browser-implementation.ts';
import { type Results, readCorpus } from './corpus.ts';
import { type Implementation, readCommandLine, runCommand, runSuite } from './suite.ts';
import { startWorkerd } from './workerd/workerd-implementation.ts';

const options = readCommandLine({ both: { type: 'boolean' } });
if (options.flags.both === true) await runBoth();
else await runCommand(options, startWorkerd);

async function runBoth(): Promise<void> {
  const corpus = readCorpus(options.corpusPath);
  const native = await resultsOf(await startWorkerd(corpus));
  const ours = await resultsOf(
    await startBrowser(corpus, { browser: 'chromium', medium: null, headed: false }),
  );
  let different = 0;
  for (const name of Object.keys(native)) {
    const texts = [JSON.stringify(native[name]), JSON.stringify(ours[name])];
    const same = texts[0] === texts[1];
    if (!same) different += 1;
    console.log(`${same ? 'same' : 'DIFFERENT'} ${name}\n  workerd ${texts[0]}`);
    if (!same) console.log(`  browser ${texts[1]}`);
  }
  console.log(`\n${Object.keys(native).length - different} passed, ${different} failed`);
  if (different > 0) process.exitCode = 1;
}

async function resultsOf(implementation: Implementation): Promise<Results> {
  try {
    return await runSuite(implementation, options.filter);
  } finally {
    await implementation.close();
  }
}
