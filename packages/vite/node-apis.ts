// The modules and globals of Node that workerd gives a program, by its compatibility date and flags.
//
// From 2026-08-04 on, every program has them; before, the flag `nodejs_compat` gives the modules, and from 2024-09-23
// on also the globals. workerd has some modules only from a later date; they count as present. This module does not
// know where browsers get them from.

/** `all`: also the globals, and modules named without `node:`. */
export type NodeApis = 'none' | 'modules' | 'all';

const ALL_SINCE = '2024-09-23';
const WITHOUT_FLAG_SINCE = '2026-08-04';

/** A text that is not a date counts as none: workerd does not start with it. */
export function nodeApis(text: string, flags: readonly string[]): NodeApis {
  const date = /^\d{4}-\d\d-\d\d$/.test(text) ? text : '';
  const has = (flag: string) => flags.includes(flag);
  const isDefault = date >= WITHOUT_FLAG_SINCE;
  const all = has('nodejs_compat_v2') || isDefault || (has('nodejs_compat') && date >= ALL_SINCE);
  if (all && !has('no_nodejs_compat_v2')) return 'all';
  const modules = has('nodejs_compat') || isDefault;
  return modules && !has('no_nodejs_compat') ? 'modules' : 'none';
}

const POPULATED_SINCE = '2025-04-01';

/** Whether `process.env` has the variables and secrets of `env`; otherwise it is empty. */
export function populatesProcessEnv(text: string, flags: readonly string[]): boolean {
  if (nodeApis(text, flags) === 'none') return false;
  if (flags.includes('nodejs_compat_do_not_populate_process_env')) return false;
  return text >= POPULATED_SINCE || flags.includes('nodejs_compat_populate_process_env');
}

/** The values as `process.env` has them: texts, and other values as JSON. */
export function processEnvOf(values: object): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
}

/** Defines the globals; it is evaluated before the modules of the program. */
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
