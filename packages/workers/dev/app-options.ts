// Translates the configuration of a wrangler file into the arguments of `createObjects`, which starts the app.
//
// Invariant: a member of `env` that this package does not have fails the start, with its name, unless the user gives
// one.

import { resolve } from 'node:path';
import type { EnvBinding } from '@ctx-storage/core/contract';
import type { ObjectsConfig } from '@ctx-storage/vite/project';
import { flagsOf, type MemberCall, readMigrations, WAYS_OUT } from '@ctx-storage/vite/project';
import type { Assets } from './assets.ts';

/** The functions of the entry `ctx-storage/bindings`, by their names. */
export type BindingMakers = Readonly<Record<MemberCall['make'], (options: never) => EnvBinding>> & {
  cronTriggers(crons: readonly string[]): EnvBinding;
};

/** The loaded code of a project. */
export interface LoadedCode {
  /** The exports of the main module. */
  readonly main: Readonly<Record<string, unknown>>;
  /** The members of `env` that the user gives with `--bindings`. */
  readonly given: Readonly<Record<string, unknown>>;
}

export interface AppArguments {
  readonly classes: Readonly<Record<string, { readonly class: unknown; readonly storage: string }>>;
  readonly options: object;
}

/** The parts of a project beside its configuration and code. */
export interface ProjectParts {
  readonly folder: string;
  readonly secrets: NodeJS.Dict<string>;
  readonly assets: Assets | undefined;
}

/**
 * The `env` of the configuration. It lacks the user's own members, because their module may read `env` while it is
 * loaded.
 */
export interface ConfiguredEnv {
  readonly env: object;
  readonly bindings: Readonly<Record<string, string | object>>;
  readonly services: ObjectsConfig['services'];
  readonly compatibilityFlags?: readonly string[];
  readonly scriptName?: string;
}

export function configuredEnv(
  config: ObjectsConfig,
  bindingMakers: BindingMakers,
  { folder, secrets, assets }: ProjectParts,
): ConfiguredEnv {
  const { scriptName, members } = config;
  const madeBindings = Object.entries(members).map(
    ([name, { make, options, migrations: place }]) => {
      const migrations = place && readMigrations(resolve(folder, place.folder), place.pattern);
      return [
        name,
        bindingMakers[make]({ ...options, ...(migrations && { migrations }) } as never),
      ];
    },
  );
  const bindings = {
    ...config.bindings,
    ...Object.fromEntries(madeBindings),
    ...(assets !== undefined && config.assets?.binding && { [config.assets.binding]: assets }),
  };
  return {
    env: { ...config.vars, ...secrets },
    bindings,
    services: config.services,
    ...flagsOf(config),
    ...(scriptName !== undefined && { scriptName }),
  };
}

/**
 * Returns the arguments of `createObjects`.
 *
 * @throws Error that names a member or class that is missing, and the way out
 */
export function appArguments(
  config: ObjectsConfig,
  { main, given }: LoadedCode,
  bindingMakers: BindingMakers,
  configured: ConfiguredEnv,
): AppArguments {
  const { compatibilityDate, crons } = config;
  const bindings = { ...configured.bindings, ...given };
  const missing = config.missing.find(({ name }) => !Object.hasOwn(bindings, name));
  if (missing !== undefined) {
    const { name, section } = missing;
    const advice = Object.hasOwn(WAYS_OUT, section) ? `${WAYS_OUT[section]} Or give` : 'Give';
    throw new Error(
      `${name} (section ${section}) does not exist here. ${advice} a stand-in: a module whose default ` +
        `export has the member ${name}, as --bindings FILE.`,
    );
  }
  const classes = config.classes.map(({ name, storage }) => {
    if (name in main) return [name, { class: main[name], storage }];
    throw new Error(
      `${name} is a class of the configuration, and ${config.main} exports nothing of that name; export the class.`,
    );
  });
  return {
    classes: Object.fromEntries(classes),
    options: {
      ...configured,
      exports: main,
      bindsClassNames: false,
      bindings,
      ...(crons.length > 0 && { crons: bindingMakers.cronTriggers(crons) }),
      ...(compatibilityDate !== undefined && { compatibilityDate }),
    },
  };
}
