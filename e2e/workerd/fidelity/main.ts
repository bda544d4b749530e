// npm run fidelity -- [library …] [--browser chromium|firefox]
//
// Runs published libraries, unmodified, in a real browser and in workerd, and prints which of their
// findings are equal. Fetches nothing: the libraries are development dependencies. Ends with 1 if a
// finding differs or a program fails.

import { parseArgs } from 'node:util';
import { openBlank } from '../../browsers/blank-page.ts';
import { requireBrowser } from '../../browsers/browser.ts';
import { Profile } from '../../browsers/profile.ts';
import { startServer } from '../../browsers/server.ts';
import { type Findings, inBrowser, inWorkerd, startInBrowser } from '../libraries/engines.ts';
import { installedVersion, PROGRAMS, type Program } from '../libraries/programs.ts';
import { startWorkerd } from '../libraries/workerd.ts';
import { compareFindings } from './compare.ts';

/** A bound for a program that hangs. */
const PROGRAM_MS_MAX = 30_000;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { browser: { type: 'string', default: 'chromium' } },
});
const { browser } = values;
if (browser !== 'chromium' && browser !== 'firefox') {
  throw new Error(`fidelity: --browser is chromium or firefox, not ${browser}.`);
}
const unknown = positionals.filter((name) => !PROGRAMS.some((one) => one.packageName === name));
if (unknown.length > 0) {
  const known = PROGRAMS.map(({ packageName }) => packageName).join(', ');
  throw new Error(`fidelity: ${unknown.join(', ')} is not in the suite, which has ${known}.`);
}
const isChosen = ({ packageName }: Program) =>
  positionals.length === 0 || positionals.includes(packageName);

const server = await startServer();
const profile = new Profile(requireBrowser(browser));
const workerd = await startWorkerd();
try {
  await profile.launch();
  const page = await openBlank(await profile.newPage(), server);
  await startInBrowser(page);
  for (const program of PROGRAMS.filter(isChosen)) {
    const there = await settled('workerd', inWorkerd(workerd, program));
    const here = await settled(browser, inBrowser(page, program));
    report(program, here, there);
  }
} finally {
  await Promise.all([workerd.dispose(), profile.remove(), server.close()]);
}

function report({ packageName }: Program, here: Findings, there: Findings): void {
  const { equal, different } = compareFindings(here, there);
  if (different.length > 0) process.exitCode = 1;
  const library = `${packageName} ${installedVersion(packageName)}`;
  console.log(`${library.padEnd(36)} ${equal.length} equal, ${different.length} different`);
  for (const name of different) {
    console.log(`    ${name}`);
    console.log(`      ${browser}: ${JSON.stringify(here[name])}`);
    console.log(`      workerd: ${JSON.stringify(there[name])}`);
  }
}

/** A program that fails, or does not end, has this as its only finding. */
async function settled(engine: string, findings: Promise<Findings>): Promise<Findings> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('It did not end.')), PROGRAM_MS_MAX);
  });
  try {
    return await Promise.race([findings, late]);
  } catch (error) {
    return { [`failure in ${engine}`]: String(error) };
  } finally {
    clearTimeout(timer);
  }
}
