// Finds a browser on this machine, or gets one.
//
// Chromium: the browser that CHROMIUM_PATH names, then an installed Chromium or Chrome, then
// Playwright's own download, then the system's package (as root). Firefox: FIREFOX_PATH, then an
// installed Firefox; fetched only with FIREFOX=1. A candidate counts only when it starts and is one
// that Playwright can drive.

import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium } from '@playwright/test';

export type BrowserName = 'chromium' | 'firefox';

/** A browser that was found and started once. */
export interface FoundBrowser {
  readonly name: BrowserName;
  readonly executablePath: string;
  /** The version that the browser itself reports. */
  readonly version: string;
}

interface Places {
  readonly variable: string;
  readonly commands: readonly string[];
  readonly paths: readonly string[];
  /** The oldest major version that Playwright can drive. */
  readonly oldest?: number;
}

const PLACES: Readonly<Record<BrowserName, Places>> = {
  chromium: {
    variable: 'CHROMIUM_PATH',
    commands: ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome', 'chrome'],
    paths: [
      '/usr/bin/chromium',
      '/usr/lib/chromium/chromium',
      '/opt/google/chrome/chrome',
      '/snap/bin/chromium',
      '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
      '/Applications/Chromium.app/Contents/MacOS/Chromium',
      'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
      'C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe',
    ],
  },
  firefox: {
    variable: 'FIREFOX_PATH',
    commands: ['firefox-esr', 'firefox'],
    paths: [
      '/usr/bin/firefox-esr',
      '/usr/lib/firefox-esr/firefox-esr',
      '/Applications/Firefox.app/Contents/MacOS/firefox',
      'C:\\Program Files\\Mozilla Firefox\\firefox.exe',
    ],
    // Playwright sends `network.addDataCollector` at each start, which Firefox 140 does not know.
    oldest: 141,
  },
};

/** Where `npx` finds the Playwright that is a dependency. */
const REPOSITORY = join(import.meta.dirname, '../..');

// A browser that cannot be started at all says so at once; one on a busy machine may take a while.
const START_MS_MAX = 60_000;

/** The installed browser of this name, or null. @throws Error when its variable names a wrong path. */
export function findBrowser(name: BrowserName): FoundBrowser | null {
  const { variable, commands, paths } = PLACES[name];
  const named = process.env[variable];
  if (named) {
    const found = tryBrowser(name, named);
    if (found) return found;
    throw new Error(`${variable} is ${named}, which ${fault(name)}; correct or unset it.`);
  }
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const onPath = commands.flatMap((command) => folders.map((folder) => join(folder, command)));
  const candidates = name === 'chromium' ? [...paths, chromium.executablePath()] : paths;
  for (const path of [...onPath, ...candidates]) {
    const found = tryBrowser(name, path);
    if (found) return found;
  }
  return null;
}

/** A Chromium, fetched when none is installed. @throws Error with the way out */
export function getChromium(): FoundBrowser {
  const installed = findBrowser('chromium');
  if (installed) return installed;
  console.log('No Chromium or Chrome found; asking Playwright to download one.');
  const downloaded =
    run('npx', ['playwright', 'install', '--no-shell', 'chromium']) && findBrowser('chromium');
  if (downloaded) return downloaded;
  const packaged = installPackage('chromium') && findBrowser('chromium');
  if (packaged) return packaged;
  throw new Error(
    'No Chromium could be found, downloaded or installed. Install Chromium or Chrome and, if it is ' +
      'not on the PATH, set CHROMIUM_PATH to its executable.',
  );
}

/** Firefox when it is installed or, with FIREFOX=1, could be; null otherwise. */
export function getFirefox(): FoundBrowser | null {
  const installed = findBrowser('firefox');
  if (installed || process.env.FIREFOX !== '1') return installed;
  const packaged = installPackage('firefox-esr') && findBrowser('firefox');
  if (packaged) return packaged;
  throw new Error(
    `FIREFOX=1, but no Firefox of version ${PLACES.firefox.oldest} or later could be found or installed. ` +
      'Install Firefox ESR and, if it is not on the PATH, set FIREFOX_PATH to its executable.',
  );
}

/** The browser of this name, fetched on request. @throws Error with the way out */
export function requireBrowser(name: BrowserName): FoundBrowser {
  const found = name === 'chromium' ? getChromium() : getFirefox();
  if (found === null) {
    throw new Error('Firefox is not installed; install it, or set FIREFOX=1 to have it installed.');
  }
  return found;
}

function tryBrowser(name: BrowserName, executablePath: string): FoundBrowser | null {
  try {
    accessSync(executablePath, constants.X_OK);
  } catch {
    return null;
  }
  const { status, stdout } = spawnSync(executablePath, ['--version'], {
    encoding: 'utf8',
    timeout: START_MS_MAX,
  });
  const version = stdout?.trim() ?? '';
  if (status !== 0 || majorOf(version) < (PLACES[name].oldest ?? 0)) return null;
  return { name, executablePath, version };
}

/** Why a candidate of this name did not count. */
function fault(name: BrowserName): string {
  const { oldest } = PLACES[name];
  return oldest === undefined
    ? 'does not start as a browser'
    : `does not start as a browser of version ${oldest} or later`;
}

/** The first number in what a browser says of itself; NaN, which is older than nothing, if there is none. */
function majorOf(version: string): number {
  return Number.parseInt(/\d+/.exec(version)?.[0] ?? '', 10);
}

/** Installs packages of Debian or Ubuntu, as root; false if that is not possible. */
export function installPackage(...packageNames: string[]): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  console.log(`Installing the system packages ${packageNames.join(', ')}.`);
  run('apt-get', ['update']);
  return run('apt-get', ['install', '-y', '--no-install-recommends', ...packageNames]);
}

function run(command: string, parameters: readonly string[]): boolean {
  return spawnSync(command, parameters, { cwd: REPOSITORY, stdio: 'inherit' }).status === 0;
}
