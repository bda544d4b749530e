// The module of the source that each entry of the package begins with.
//
// Invariant: a name is that of the entry's script in `dist`, and of its declarations in `dist/types`.

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
  management: 'packages/management/index.ts',
  'management-node': 'packages/management/adapters/node-server.ts',
} as const;

export type EntryName = keyof typeof ENTRY_MODULES;

export const ENTRY_NAMES = Object.keys(ENTRY_MODULES) as readonly EntryName[];

/** The modules of these entries, by name. */
export function entryModules(...names: readonly EntryName[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, ENTRY_MODULES[name]]));
}

/** The module of the entry whose declarations are here, as the manifest names them; undefined for other files. */
export function moduleOfTypes(types: string | undefined): string | undefined {
  const [, name] = /^\.\/dist\/types\/(.+)\.d\.ts$/.exec(types ?? '') ?? [];
  return name === undefined ? undefined : ENTRY_MODULES[name as EntryName];
}
