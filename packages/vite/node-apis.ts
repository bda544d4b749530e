// Decides which modules and globals of Node a program has on workerd, by its compatibility date and flags.
//
// From 2026-08-04 on, every program has them; before, the flag `nodejs_compat` gives the modules, and from 2024-09-23
// on also the globals. workerd has some modules only from a later date; they count as present. This module does not
// know where browsers get them from.

/**
 * `modules` gives the modules with the prefix `node:`. `all` also gives the globals, and modules that are named without
 * the prefix.
 */
export type NodeApis = 'none' | 'modules' | 'all';

const ALL_APIS_SINCE = '2024-09-23';
const DEFAULT_SINCE = '2026-08-04';

/** Returns the APIs of a program. A text that is not a date counts as no date; workerd would not start with it. */
export function nodeApis(text: string, flags: readonly string[]): NodeApis {
  const date = /^\d{4}-\d\d-\d\d$/.test(text) ? text : '';
  const has = (flag: string) => flags.includes(flag);
  const isDefault = date >= DEFAULT_SINCE;
  const all =
    has('nodejs_compat_v2') || isDefault || (has('nodejs_compat') && date >= ALL_APIS_SINCE);
  if (all && !has('no_nodejs_compat_v2')) return 'all';
  const modules = has('nodejs_compat') || isDefault;
  return modules && !has('no_nodejs_compat') ? 'modules' : 'none';
}

const PROCESS_ENV_SINCE = '2025-04-01';

/** Returns whether `process.env` has the variables and secrets of `env`. Otherwise it is empty. */
export function populatesProcessEnv(text: string, flags: readonly string[]): boolean {
  if (nodeApis(text, flags) === 'none') return false;
  if (flags.includes('nodejs_compat_do_not_populate_process_env')) return false;
  return text >= PROCESS_ENV_SINCE || flags.includes('nodejs_compat_populate_process_env');
}

/** Converts values to the form of `process.env`: texts stay, and other values become JSON. */
export function processEnvOf(values: object): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
}

/** The code that defines Node's globals. It is evaluated before the modules of the program. */
export const NODE_GLOBALS_MODULE = [
  "import { Buffer } from 'node:buffer';",
  "import process from 'node:process';",
  "import { clearImmediate, setImmediate } from 'node:timers';",
  '',
  'const globals = { Buffer, clearImmediate, global: globalThis, process, setImmediate };',
  'for (const [name, value] of Object.entries(globals)) {',
  '  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });',
  '}',
  '',
].join('\n');
