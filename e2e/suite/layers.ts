// Which room may import which: the wings of the product, and the tools beside them.

import { dirname } from 'node:path';

interface Wing {
  /** The rooms from the ground up: a room imports those before it. Absent: the wing is one room. */
  readonly rooms?: readonly string[];
  /** Wings, or rooms of wings, on which this wing stands. */
  readonly on: readonly string[];
}

const WINGS: Readonly<Record<string, Wing>> = {
  'src/shared': {
    rooms: [
      'contract',
      'values',
      'wire',
      'calls/io',
      'calls/sockets',
      'calls/http',
      'calls/stubs',
      'calls/membrane',
      'live',
    ],
    on: [],
  },
  'src/page': { rooms: ['leader', 'storage', 'start'], on: ['src/shared'] },
  'src/follow': { rooms: ['protocol', 'changes', 'capture', 'server', 'app'], on: ['src/shared'] },
  'src/tools/inspector': { on: ['src/page', 'src/shared'] },
  'src/tools/playwright': { rooms: ['page', '.'], on: ['src/page', 'src/shared'] },
  'src/tools/vite': { on: ['src/shared'] },
  'src/tools/dev': { on: ['src/tools/vite', 'src/shared'] },
  'src/tools/draft': { on: ['src/shared/contract'] },
  'src/tools/drizzle': { on: ['src/tools/migrate', 'src/shared/contract'] },
  'src/tools/history': { on: ['src/shared'] },
  'src/tools/kysely': { on: ['src/shared/contract'] },
  'src/tools/observed': { on: ['src/shared/contract'] },
  'src/tools/react': { on: ['src/tools/draft', 'src/tools/observed', 'src/shared/contract'] },
  'src/tools/socket': { on: ['src/shared'] },
  'src/tools/solid': { on: ['src/tools/observed', 'src/shared/contract'] },
  'src/tools/svelte': { on: ['src/tools/observed', 'src/shared/contract'] },
  'src/tools/vitest': { on: ['src/tools/vite', 'src/shared/contract'] },
  'src/tools/vue': { on: ['src/tools/observed', 'src/shared/contract'] },
  'src/tools/undo': { on: ['src/shared'] },
  'src/tools/migrate': { on: ['src/shared/contract'] },
  'src/management': {
    rooms: [
      'schedule',
      'call',
      'resources',
      'routes',
      'objects',
      'changes',
      'edge',
      'adapters',
      'report',
      '.',
      'cli',
    ],
    on: ['src/tools/dev', 'src/shared/contract'],
  },
  'worker/engine': {
    rooms: ['file', 'log', 'vfs', 'sql', 'import', 'kv', 'diff', 'storage'],
    on: ['src/shared'],
  },
  'worker/objects': {
    rooms: [
      'clock',
      'alarms',
      'io',
      'catalog',
      'sockets',
      'live',
      'instance',
      'host',
      'calls',
      'entries',
      'sessions',
    ],
    on: ['worker/engine', 'src/shared'],
  },
  'worker/follow': { on: ['worker/objects', 'worker/engine', 'src/follow', 'src/shared'] },
  'worker/realm': {
    rooms: ['globals', 'html', 'modules', 'library', 'source'],
    on: ['worker/objects', 'worker/engine/storage', 'src/shared'],
  },
  'worker/bindings': { on: ['worker/realm/library', 'src/shared/contract', 'src/shared/values'] },
  'worker/start': {
    rooms: ['boot', 'entries'],
    on: ['worker/realm', 'worker/objects', 'worker/engine', 'src/shared'],
  },
  'worker/vitest': {
    on: ['worker/start', 'worker/realm', 'worker/objects', 'worker/engine', 'src/shared'],
  },
  'worker/simulate': {
    rooms: ['world', '.'],
    on: ['worker/start', 'worker/realm', 'worker/objects', 'worker/engine', 'src/shared'],
  },
};

/** The program of the command line is where page and worker meet. */
export const PROGRAM = 'src/management/cli/node-main.ts';

/** Handles on objects in the same process: a page's client, on sessions of the worker. */
export const LOCAL_STORAGE = 'worker/start/entries/local-storage.ts';

/** Tools of the tests and the build may import everything, and no product file imports them. */
const TOOLS = [
  'src/testing',
  'src/follow/protocol/model',
  'worker/testing',
  'worker/sim',
  'worker/sim/put-back',
  'worker/simulate/examples',
  'worker/engine/vfs/build',
];

/** The demo is a user: it imports only the package's exports. */
const ENTRIES = [
  'src/index.ts',
  'src/tools/inspector/index.ts',
  // The playground shows keys, tables and their differences as the inspector does.
  'src/tools/inspector/compared.ts',
  'src/tools/inspector/grid.tsx',
  'src/tools/inspector/stored-value.ts',
  'src/tools/inspector/tables.ts',

  'src/tools/inspector/use-followed.ts',
  'src/tools/draft/draft.ts',
  'src/tools/undo/undo.ts',
  'src/page/start/connect-source.ts',
  'src/shared/live/every-commit.ts',
  'src/follow/app/followed.ts',
  'src/follow/server/index.ts',
  'src/management/index.ts',
  'src/tools/vite/client.d.ts',
  'worker/follow/follow.ts',
  'worker/start/entries/objects.ts',
  'worker/start/entries/in-process.ts',
  'worker/start/entries/source-worker.ts?worker&url',
  // As text: the figures of the documents.
  'docs/benchmarks.md?raw',
];

/** Whether the file is a tool, and not part of the product. */
export function isTool(file: string): boolean {
  return TOOLS.includes(dirname(file));
}

/** The product a file belongs to: the storage, or the management interface built on it. */
export function productOf(file: string): 'storage' | 'management' {
  const folder = dirname(file);
  return folder === 'src/management/cli' || folder.startsWith('src/management')
    ? 'management'
    : 'storage';
}

/** Why `file` may not import `target`; undefined when it may. */
export function importFault(file: string, target: string): string | undefined {
  if (isTool(file)) return undefined;
  if (isTool(target)) return 'the product imports a tool';
  if (file.startsWith('demo')) {
    const isOwn = target.startsWith('demo/') || ENTRIES.includes(target);
    return isOwn ? undefined : 'the demo imports a module that the package does not export';
  }
  const [from, to] = [dirname(file), dirname(target)];
  if (from === to || isBridge(file, to)) return undefined;
  const wing = wingOf(from);
  if (wing === undefined) return `${from} has no layer`;
  return isBelow(to, wing, from) ? undefined : `${from} is not above ${to}`;
}

function wingOf(folder: string): string | undefined {
  return Object.keys(WINGS).find((wing) => isIn(folder, wing));
}

function isBelow(folder: string, wing: string, from: string): boolean {
  const { rooms, on } = WINGS[wing]!;
  if (!isIn(folder, wing)) return on.some((below) => isIn(folder, below));
  if (rooms === undefined) return true;
  const floor = rooms.indexOf(roomOf(folder, wing));
  return floor !== -1 && floor < rooms.indexOf(roomOf(from, wing));
}

function roomOf(folder: string, wing: string): string {
  return folder === wing ? '.' : folder.slice(wing.length + 1);
}

function isIn(folder: string, wing: string): boolean {
  return folder === wing || folder.startsWith(`${wing}/`);
}

/** The places where page and worker meet in one process, and the face of the package. */
function isBridge(file: string, to: string): boolean {
  if (file === PROGRAM) return ['worker/start/entries', 'worker/bindings'].includes(to);
  if (file === 'src/index.ts') return isIn(to, 'src/page') || isIn(to, 'src/shared');
  return file === LOCAL_STORAGE && isIn(to, 'src/page');
}
