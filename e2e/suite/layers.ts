// Lists which room may import which: the rooms of the product, and the tools beside them.

import { dirname } from 'node:path';

interface Wing {
  /** The rooms from the ground up: a room imports those before it. Absent if the whole part is one room. */
  readonly rooms?: readonly string[];
  /** Wings, or rooms and files of wings, on which this wing stands. */
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
  'worker/realm': {
    rooms: ['globals', 'modules', 'library', 'source'],
    on: ['worker/objects', 'worker/engine/storage', 'src/shared'],
  },
  'worker/start': {
    rooms: ['boot', 'entries'],
    on: ['worker/realm', 'worker/objects', 'worker/engine', 'src/shared'],
  },
  'src/doors': { on: ['src/page', 'src/shared'] },
  'worker/doors': { on: ['worker/start', 'worker/realm', 'worker/objects', 'worker/engine'] },

  // Packages reach the core, and one another, through doors. A part of a package stands before the package.
  'packages/adapters/drizzle': { on: ['packages/adapters/migrate', 'src/doors'] },
  'packages/adapters/react': {
    on: ['packages/adapters/draft', 'packages/adapters/observed', 'src/doors'],
  },
  'packages/adapters/solid': { on: ['packages/adapters/observed', 'src/doors'] },
  'packages/adapters/svelte': { on: ['packages/adapters/observed', 'src/doors'] },
  'packages/adapters/vue': { on: ['packages/adapters/observed', 'src/doors'] },
  'packages/adapters': { on: ['src/doors'] },
  'packages/cli': {
    on: ['packages/command-line', 'packages/workers', 'worker/start/entries', 'src/doors'],
  },
  'packages/command-line': { on: ['src/doors/errors.ts'] },
  'packages/entries': {
    on: ['packages/html-rewriter', 'worker/doors', 'worker/start/entries', 'src/doors'],
  },
  'packages/follow/copy': { on: ['packages/follow', 'worker/doors', 'src/doors'] },
  'packages/follow': {
    rooms: ['protocol', 'changes', 'capture', 'server', 'app'],
    on: ['src/doors'],
  },
  'packages/html-rewriter': { on: ['worker/doors', 'src/doors'] },
  'packages/inspector': { on: ['src/doors'] },
  'packages/management': {
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
    on: [
      'packages/command-line',
      'src/doors/errors.ts',
      'src/doors/object.ts',
      'src/doors/storage.ts',
    ],
  },
  'packages/testing/playwright': { rooms: ['page', '.'], on: ['src/doors'] },
  'packages/testing/simulate': {
    rooms: ['world', '.'],
    on: ['packages/html-rewriter', 'worker/doors', 'worker/engine/storage', 'src/doors'],
  },
  'packages/vite': { on: ['src/doors'] },
  'packages/workers/bindings': { on: ['worker/doors/realm.ts', 'src/doors'] },
  'packages/workers/dev': {
    on: [
      'packages/html-rewriter',
      'packages/vite/project.ts',
      'packages/workers/bindings',
      'worker/doors',
      'worker/start/entries',
      'src/doors',
    ],
  },
  'packages/workers/vitest/host': {
    on: ['packages/html-rewriter', 'worker/doors', 'worker/start/entries', 'src/doors'],
  },
  'packages/workers/vitest': { on: ['packages/vite/project.ts', 'src/doors'] },
};

/** The manifest of the emulator's package, which is data: a program reads the package's name from it. */
const EMULATOR_MANIFEST = 'packages/management/package.json';

/** The program of the command line is where page and worker meet. */
export const PROGRAM = 'packages/cli/node-main.ts';

/** Handles on objects in the same process: a page's client, on sessions of the worker. */
export const LOCAL_STORAGE = 'worker/start/entries/local-storage.ts';

/** Tools of the tests and the build may import everything, and no product file imports them. */
const TOOLS = [
  'packages/adapters/testing',
  'packages/follow/testing',
  'packages/follow/protocol/model',
  'packages/management/e2e',
  'packages/vite/testing',
  'packages/workers/testing',
  'packages/testing/assertions',
  'packages/testing/page',
  'packages/testing/worker',
  'packages/testing/election',
  'packages/testing/engine',
  'packages/testing/engine/put-back',
  'packages/testing/simulate/examples',
  'worker/engine/vfs/build',
];

/** The demo is a user: it imports only the package's exports. */
const ENTRIES = [
  'src/index.ts',
  'packages/inspector/index.ts',
  // The playground shows keys, tables and their differences as the inspector does.
  'packages/inspector/compared.ts',
  'packages/inspector/grid.tsx',
  'packages/inspector/stored-value.ts',
  'packages/inspector/tables.ts',

  'packages/inspector/use-followed.ts',
  'packages/adapters/draft/draft.ts',
  'packages/adapters/undo/undo.ts',
  'packages/entries/connect-source.ts',
  'src/shared/live/every-commit.ts',
  'packages/follow/app/followed.ts',
  'packages/follow/server/index.ts',
  'packages/management/index.ts',
  'packages/follow/copy/follow.ts',
  'worker/start/entries/objects.ts',
  'packages/entries/in-process.ts',
  'packages/entries/source-worker.ts?worker&url',
  // Imported as text, for the figures of the documents.
  'docs/benchmarks.md?raw',
];

/** Whether the file is a tool, and not part of the product. */
export function isTool(file: string): boolean {
  return TOOLS.includes(dirname(file));
}

/** The product a file belongs to: the storage, or the management interface built on it. */
export function productOf(file: string): 'storage' | 'management' {
  const folder = dirname(file);
  return folder.startsWith('packages/management') ? 'management' : 'storage';
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
  if (from === to || isBridge(file, to) || target === EMULATOR_MANIFEST) return undefined;
  const wing = wingOf(from);
  if (wing === undefined) return `${from} has no layer`;
  return isBelow(target, wing, from) ? undefined : `${from} is not above ${to}`;
}

function wingOf(folder: string): string | undefined {
  return Object.keys(WINGS).find((wing) => isIn(folder, wing));
}

function isBelow(target: string, wing: string, from: string): boolean {
  const folder = dirname(target);
  const { rooms, on } = WINGS[wing]!;
  if (!isIn(folder, wing)) return on.some((below) => isIn(target, below));
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
  if (file === PROGRAM) return to === 'packages/workers/bindings';
  if (file === 'src/index.ts') return isIn(to, 'src/page') || isIn(to, 'src/shared');
  return file === LOCAL_STORAGE && isIn(to, 'src/page');
}
