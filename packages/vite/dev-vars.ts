// The values of local runs that are not in the wrangler file: the secrets in `.dev.vars` or `.env`, and the variables of
// the process, as wrangler reads them.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expandVariables, parseDotEnv, type Variables } from './dot-env.ts';
import type { ObjectsConfig } from './wrangler-config.ts';

/** Where the secrets are. */
export interface SecretPlace {
  /** Of the wrangler file. */
  readonly folder: string;
  /** The environment that a person has named: `CLOUDFLARE_ENV` chooses none of these files. */
  readonly environment: string | undefined;
  /** As `processVariables` reads it. */
  readonly process: NodeJS.Dict<string>;
}

/** Parts of the wrangler file that concern secrets. */
export type SecretRules = Pick<
  ObjectsConfig,
  'requiredSecrets' | 'vars' | 'bindings' | 'members' | 'services' | 'otherServices' | 'missing'
>;

export interface LocalSecrets {
  readonly secrets: Variables;
  readonly warnings: readonly string[];
}

/** The variables of this process; the `.env` files of a folder add to them. */
export function processVariables(
  folder: string,
  environment: string | undefined,
): NodeJS.Dict<string> {
  const { env } = process;
  return { ...env, ...expandVariables(dotEnvIn(folder, environment), env) };
}

/** The environment of the wrangler file. Undefined: the top of the file. */
export function environmentOf(
  named: string | undefined,
  process: NodeJS.Dict<string>,
): string | undefined {
  return (named ?? process.CLOUDFLARE_ENV) || undefined;
}

/** @throws Error of the system; Error for a variable of wrangler that is neither true nor false */
export function secretsIn(place: SecretPlace, rules: SecretRules): LocalSecrets {
  const { requiredSecrets: required, vars } = rules;
  const given = variablesIn(place, required !== undefined);
  const known = required && new Set([...required, ...Object.keys(vars)]);
  const secrets = Object.entries(given).filter(([name]) => known?.has(name) ?? true);
  const taken = namesOfBindings(rules);
  const [hidden, free] = [true, false].map((isTaken) =>
    secrets.filter(([name]) => taken.has(name) === isTaken),
  ) as [typeof secrets, typeof secrets];
  const missing = (required ?? []).filter((name) => !Object.hasOwn(given, name));
  const warnings = [
    unreadFile(place),
    hidden.length > 0 &&
      `${hidden.map(([name]) => name).join(', ')}: the wrangler file has bindings with the names of these variables; env has the ` +
        'bindings.',
    missing.length > 0 &&
      `${missing.join(', ')}: secrets.required names these secrets, and they have no values; write them into .dev.vars or ` +
        '.env, or set them as variables of the process.',
  ];
  return {
    secrets: Object.fromEntries(free),
    warnings: warnings.filter((warning) => typeof warning === 'string'),
  };
}

function namesOfBindings(rules: SecretRules): ReadonlySet<string> {
  const { bindings, members, services, otherServices, missing } = rules;
  return new Set([
    ...Object.keys({ ...bindings, ...members, ...services, ...otherServices }),
    ...missing.map(({ name }) => name),
  ]);
}

function variablesIn(
  { folder, environment, process }: SecretPlace,
  hasRequired: boolean,
): Variables {
  const own =
    environment === undefined ? undefined : contentOf(join(folder, `.dev.vars.${environment}`));
  const content = own ?? contentOf(join(folder, '.dev.vars'));
  if (content !== undefined) return parseDotEnv(content);
  if (!flag('CLOUDFLARE_LOAD_DEV_VARS_FROM_DOT_ENV', true, process)) return {};
  const includesProcess = hasRequired || flag('CLOUDFLARE_INCLUDE_PROCESS_ENV', false, process);
  const outer = includesProcess ? process : {};
  return { ...outer, ...expandVariables(dotEnvIn(folder, environment), outer) } as Variables;
}

/** Each file overrides those before it. */
function dotEnvIn(folder: string, environment: string | undefined): Variables {
  const suffixes = environment === undefined ? [''] : ['', `.${environment}`];
  const names = suffixes.flatMap((suffix) => [`.env${suffix}`, `.env${suffix}.local`]);
  const contents = names.map((name) => contentOf(join(folder, name), MISSING_OR_FOLDER) ?? '');
  return Object.assign({}, ...contents.map(parseDotEnv));
}

const MISSING: ReadonlySet<string | undefined> = new Set(['ENOENT']);

/** Environments of Python are folders with the name `.env`. */
const MISSING_OR_FOLDER: typeof MISSING = new Set(['ENOENT', 'EISDIR']);

/** Undefined: there is no such file. */
function contentOf(path: string, missing = MISSING): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (missing.has((error as NodeJS.ErrnoException).code)) return undefined;
    throw error;
  }
}

/** Names a file of the environment that `CLOUDFLARE_ENV` chooses: wrangler does not read it either. */
function unreadFile({ folder, environment, process }: SecretPlace): string | undefined {
  const chosen = environment === undefined ? process.CLOUDFLARE_ENV : undefined;
  if (!chosen) return undefined;
  const names = [`.dev.vars.${chosen}`, `.env.${chosen}`, `.env.${chosen}.local`];
  const unread = names.filter((name) => existsSync(join(folder, name)));
  if (unread.length === 0) return undefined;
  return (
    `${unread.join(', ')}: not read, because CLOUDFLARE_ENV chooses an environment of the wrangler file only; ` +
    'name the environment explicitly (dev: --env) to read its files, too.'
  );
}

function flag(name: string, standard: boolean, variables: NodeJS.Dict<string>): boolean {
  const value = variables[name];
  if (value === undefined) return standard;
  if (/^true$/i.test(value)) return true;
  if (/^false$/i.test(value)) return false;
  throw new Error(`${name} is ${JSON.stringify(value)}; it must be "true" or "false".`);
}
