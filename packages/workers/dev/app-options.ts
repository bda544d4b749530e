// What a wrangler file says, as the arguments of `createObjects`.
//
// Invariant: a member of `env` that does not exist here fails the start, by its name, unless the user gives one.

import { resolve } from 'node:path';
import type { EnvBinding } from '@ctx-storage/core/contract';
import type { ObjectsConfig } from '@ctx-storage/vite/project';
import { flagsOf, type MemberCall, readMigrations, WAYS_OUT } from '@ctx-storage/vite/project';
import type { Assets } from './assets.ts';

/** `ctx-storage/bindings`. */
export type BindingMakers = Readonly<Record<MemberCall['make'], (options: never) => EnvBinding>> & {
  cronTriggers(crons: readonly string[]): EnvBinding;
};

/** Exports of the bundled code: its main module, and the user's own members of `env`. */
export interface LoadedCode {
  readonly main: Readonly<Record<string, unknown>>;
  readonly given: Readonly<Record<string, unknown>>;
}

export interface AppArguments {
  readonly classes: Readonly<Record<string, { readonly class: unknown; readonly storage: string }>>;
  readonly options: object;
}

/** The project's files beside its code. */
export interface AppSurroundings {
  readonly folder: string;
  readonly secrets: NodeJS.Dict<string>;
  readonly assets: Assets | undefined;
}

/** `env` as the configuration has it, without the user's own members: those are code, which may read `env`. */
export interface ConfiguredEnv {
  readonly env: object;
  readonly bindings: Readonly<Record<string, string | object>>;
  readonly services: ObjectsConfig['services'];
  readonly compatibilityFlags?: readonly string[];
  readonly scriptName?: string;
}

export function configuredEnv(
  config: ObjectsConfig,
  makers: BindingMakers,
  { folder, secrets, assets }: AppSurroundings,
): ConfiguredEnv {
  const { scriptName, members } = config;
  const made = Object.entries(members).map(([name, { make, options, migrations: place }]) => {
    const migrations = place && readMigrations(resolve(folder, place.folder), place.pattern);
    return [name, makers[make]({ ...options, ...(migrations && { migrations }) } as never)];
  });
  const bindings = {
    ...config.bindings,
    ...Object.fromEntries(made),
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

/** @throws Error that names the member or class, and the way out */
export function appArguments(
  config: ObjectsConfig,
  { main, given }: LoadedCode,
  makers: BindingMakers,
  configured: ConfiguredEnv,
): AppArguments {
  const { compatibilityDate, crons } = config;
  const bindings = { ...configured.bindings, ...given };
  const missing = config.missing.find(({ name }) => !Object.hasOwn(bindings, name));
  if (missing !== undefined) {
    const { name, section } = missing;
    const way = Object.hasOwn(WAYS_OUT, section) ? `${WAYS_OUT[section]} Or give` : 'Give';
    throw new Error(
      `${name} (section ${section}) does not exist here. ${way} a stand-in: a module whose default ` +
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
      ...(crons.length > 0 && { crons: makers.cronTriggers(crons) }),
      ...(compatibilityDate !== undefined && { compatibilityDate }),
    },
  };
}
