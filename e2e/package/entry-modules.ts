// The module of the source that each entry of the package begins with.
//
// Invariant: a name is that of the entry's script in `dist`, and of its declarations in `dist/types`.

const ENTRY_MODULES = {
  index: 'src/index.ts',
  connect: 'src/page/start/connect-only.ts',
  inspector: 'src/tools/inspector/index.ts',
  source: 'src/page/start/connect-source.ts',
  react: 'src/tools/react/index.ts',
  draft: 'src/tools/draft/draft.ts',
  drizzle: 'src/tools/drizzle/index.ts',
  follow: 'src/follow/app/followed.ts',
  followable: 'src/follow/server/index.ts',
  'worker-follow': 'worker/follow/follow.ts',
  history: 'src/tools/history/live-history.ts',
  kysely: 'src/tools/kysely/dialect.ts',
  socket: 'src/tools/socket/reconnecting.ts',
  solid: 'src/tools/solid/index.ts',
  svelte: 'src/tools/svelte/index.ts',
  vue: 'src/tools/vue/index.ts',
  undo: 'src/tools/undo/undo.ts',
  migrate: 'src/tools/migrate/migrate.ts',
  objects: 'worker/start/entries/objects.ts',
  'in-process': 'worker/start/entries/in-process.ts',
  bindings: 'worker/bindings/index.ts',
  'async-hooks': 'worker/realm/modules/async-hooks.ts',
  'cloudflare-email': 'worker/realm/modules/cloudflare-email.ts',
  'diagnostics-channel': 'worker/realm/modules/diagnostics-channel.ts',
  'html-rewriter': 'worker/realm/modules/html-rewriter.ts',
  node: 'worker/start/entries/node-objects.ts',
  simulate: 'worker/simulate/simulate.ts',
  vite: 'src/tools/vite/plugin.ts',
  vitest: 'src/tools/vitest/plugin.ts',
  'cloudflare-test': 'worker/vitest/cloudflare-test.ts',
  playwright: 'src/tools/playwright/index.ts',
  management: 'src/management/index.ts',
  'management-node': 'src/management/adapters/node-server.ts',
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
