// Reads the values of local runs that are not in the wrangler file: the secrets in `.dev.vars` or `.env`, and the
// variables of the process. It reads them as wrangler does.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expandVariables, parseDotEnv, type Variables } from './dot-env.ts';
import type { ObjectsConfig } from './wrangler-config.ts';

/** The folder, environment and variables by which the secrets are found. */
export interface SecretPlace {
  /** The folder that has the app's wrangler file. */
  readonly folder: string;
  /**
   * The environment that the user has named. An environment that only `CLOUDFLARE_ENV` names has no files of its own.
   */
  readonly environment: string | undefined;
  /** The variables that `processVariables` returns. */
  readonly process: NodeJS.Dict<string>;
}

/** The parts of the wrangler file that concern secrets. */
export type SecretRules = Pick<
  ObjectsConfig,
  'requiredSecrets' | 'vars' | 'bindings' | 'members' | 'services' | 'otherServices' | 'missing'
>;

export interface LocalSecrets {
  readonly secrets: Variables;
  readonly warnings: readonly string[];
}

/** Returns the variables of this process, together with those of the `.env` files in a folder. */
export function processVariables(
  folder: string,
  environment: string | undefined,
): NodeJS.Dict<string> {
  const { env } = process;
  return { ...env, ...expandVariables(dotEnvIn(folder, environment), env) };
}

/** Returns the environment of the wrangler file, or undefined for the top of the file. */
export function environmentOf(
  named: string | undefined,
  process: NodeJS.Dict<string>,
): string | undefined {
  return (named ?? process.CLOUDFLARE_ENV) || undefined;
}

/** Reads the secrets. @throws Error of the file system, or if a variable of wrangler is neither true nor false */
export function secretsIn(place: SecretPlace, rules: SecretRules): LocalSecrets {
  const { requiredSecrets: required, vars } = rules;
  const allVariables = variablesIn(place, required !== undefined);
  const wantedNames = required && new Set([...required, ...Object.keys(vars)]);
  const secrets = Object.entries(allVariables).filter(([name]) => wantedNames?.has(name) ?? true);
  const bindingNames = namesOfBindings(rules);
  const [hidden, free] = [true, false].map((isTaken) =>
    secrets.filter(([name]) => bindingNames.has(name) === isTaken),
  ) as [typeof secrets, typeof secrets];
  const missing = (required ?? []).filter((name) => !Object.hasOwn(allVariables, name));
  const warnings = [
    unreadFileWarning(place),
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
    environment === undefined ? undefined : readIfExists(join(folder, `.dev.vars.${environment}`));
  const content = own ?? readIfExists(join(folder, '.dev.vars'));
  if (content !== undefined) return parseDotEnv(content);
  if (!booleanVariable('CLOUDFLARE_LOAD_DEV_VARS_FROM_DOT_ENV', true, process)) return {};
  const includesProcess =
    hasRequired || booleanVariable('CLOUDFLARE_INCLUDE_PROCESS_ENV', false, process);
  const outer = includesProcess ? process : {};
  return { ...outer, ...expandVariables(dotEnvIn(folder, environment), outer) } as Variables;
}

/** Reads the `.env` files. Each file overrides the files before it. */
function dotEnvIn(folder: string, environment: string | undefined): Variables {
  const suffixes = environment === undefined ? [''] : ['', `.${environment}`];
  const names = suffixes.flatMap((suffix) => [`.env${suffix}`, `.env${suffix}.local`]);
  const contents = names.map(
    (name) => readIfExists(join(folder, name), NOT_FOUND_OR_FOLDER_CODES) ?? '',
  );
  return Object.assign({}, ...contents.map(parseDotEnv));
}

const NOT_FOUND_CODES: ReadonlySet<string | undefined> = new Set(['ENOENT']);

/** Codes of errors that are ignored for `.env` files. Python makes folders with the name `.env`. */
const NOT_FOUND_OR_FOLDER_CODES: typeof NOT_FOUND_CODES = new Set(['ENOENT', 'EISDIR']);

/** Returns the content of a file, or undefined if there is no such file. */
function readIfExists(path: string, missing = NOT_FOUND_CODES): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (missing.has((error as NodeJS.ErrnoException).code)) return undefined;
    throw error;
  }
}

/**
 * Returns a warning about files of the environment that `CLOUDFLARE_ENV` chooses, which wrangler does not read either.
 */
function unreadFileWarning({ folder, environment, process }: SecretPlace): string | undefined {
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

function booleanVariable(
  name: string,
  defaultValue: boolean,
  variables: NodeJS.Dict<string>,
): boolean {
  const value = variables[name];
  if (value === undefined) return defaultValue;
  if (/^true$/i.test(value)) return true;
  if (/^false$/i.test(value)) return false;
  throw new Error(`${name} is ${JSON.stringify(value)}; it must be "true" or "false".`);
}
