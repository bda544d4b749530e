// The packages that this repository publishes, and the module of the source that each of their entries begins with.
//
// Invariant: a name is that of the entry's script in the package's `dist`, and of its declarations in `dist/types`.

import { join } from 'node:path';
import { readSource } from '../suite/source-files.ts';

const ENTRY_MODULES = {
  index: 'src/index.ts',
  connect: 'src/page/start/connect-only.ts',
  inspector: 'packages/inspector/index.ts',
  source: 'packages/entries/connect-source.ts',
  react: 'packages/adapters/react/index.ts',
  draft: 'packages/adapters/draft/draft.ts',
  drizzle: 'packages/adapters/drizzle/index.ts',
  follow: 'packages/follow/app/followed.ts',
  followable: 'packages/follow/server/index.ts',
  'worker-follow': 'packages/follow/copy/follow.ts',
  history: 'packages/adapters/history/live-history.ts',
  kysely: 'packages/adapters/kysely/dialect.ts',
  socket: 'packages/adapters/socket/reconnecting.ts',
  solid: 'packages/adapters/solid/index.ts',
  svelte: 'packages/adapters/svelte/index.ts',
  vue: 'packages/adapters/vue/index.ts',
  undo: 'packages/adapters/undo/undo.ts',
  migrate: 'packages/adapters/migrate/migrate.ts',
  objects: 'worker/start/entries/objects.ts',
  'in-process': 'packages/entries/in-process.ts',
  bindings: 'packages/workers/bindings/index.ts',
  'async-hooks': 'worker/realm/modules/async-hooks.ts',
  'cloudflare-email': 'worker/realm/modules/cloudflare-email.ts',
  'diagnostics-channel': 'worker/realm/modules/diagnostics-channel.ts',
  'html-rewriter': 'packages/html-rewriter/html-rewriter.ts',
  node: 'packages/entries/node.ts',
  simulate: 'packages/testing/simulate/simulate.ts',
  vite: 'packages/vite/plugin.ts',
  vitest: 'packages/workers/vitest/plugin.ts',
  'cloudflare-test': 'packages/workers/vitest/host/cloudflare-test.ts',
  playwright: 'packages/testing/playwright/index.ts',
} as const;

/** The module of each entry of the package in `packages/management`. */
const EMULATOR_MODULES = {
  index: 'packages/management/index.ts',
  node: 'packages/management/adapters/node-server.ts',
  playwright: 'packages/management/adapters/node-playwright.ts',
} as const;

type EntryName = keyof typeof ENTRY_MODULES;

/** From the name of each given entry of `ctx-storage` to the module that it begins with. */
export function entryModules(...names: readonly EntryName[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, ENTRY_MODULES[name]]));
}

/** The parts of a manifest that are read here. */
export interface PublishedManifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly files: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  [part: string]: unknown;
}

/** A package that this repository publishes. */
export interface PublishedPackage {
  /** The folder of the package's manifest, from the repository's root; `dist` is built in it. Empty for the root itself. */
  readonly folder: string;
  /** The modules of its entries, by name. */
  readonly modules: Readonly<Record<string, string>>;
}

export const STORAGE: PublishedPackage = { folder: '', modules: ENTRY_MODULES };

export const EMULATOR: PublishedPackage = {
  folder: 'packages/management',
  modules: EMULATOR_MODULES,
};

export const PUBLISHED = [STORAGE, EMULATOR];

export function manifestOf({ folder }: PublishedPackage): PublishedManifest {
  return JSON.parse(readSource(join(folder, 'package.json')));
}

/** The module of the entry whose declarations are here, as the manifest names them; undefined for other files. */
export function moduleOfTypes(
  { modules }: PublishedPackage,
  types: string | undefined,
): string | undefined {
  const [, name] = /^\.\/dist\/types\/(.+)\.d\.ts$/.exec(types ?? '') ?? [];
  return name === undefined ? undefined : modules[name];
}
