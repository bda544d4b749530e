// Which folder may import which: the layers of the product, and the tools beside it.

import { dirname } from 'node:path';

/**
 * What each folder may import, its own files aside. `src/contract` and `src/serializer` are shared
 * by page and worker and stand below everything.
 */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  'src/contract': ['src/serializer'],
  'src/serializer': ['src/contract'],
  'src/rpc': ['src/contract'],
  'src/io': [],
  'src/sockets': ['src/io', 'src/serializer'],
  'src/http': ['src/io'],
  'src/live': ['src/stubs', 'src/rpc', 'src/contract', 'src/serializer'],
  'src/stubs': ['src/io', 'src/rpc', 'src/contract', 'src/serializer'],
  'src/membrane': [
    'src/stubs',
    'src/http',
    'src/sockets',
    'src/io',
    'src/rpc',
    'src/contract',
    'src/serializer',
  ],
  'src/client': [
    'src/live',
    'src/membrane',
    'src/stubs',
    'src/rpc',
    'src/contract',
    'src/serializer',
  ],
  'src/playwright/page': [
    'src/client',
    'src/live',
    'src/membrane',
    'src/stubs',
    'src/rpc',
    'src/contract',
    'src/serializer',
  ],
  'src/playwright': ['src/playwright/page', 'src/rpc', 'src/contract', 'src/serializer'],
  'src/migrate': ['src/contract'],
  'src/react': ['src/contract'],
  'src/inspector': ['src/client', 'src/stubs', 'src/contract'],
  'src/vite': [],
  src: ['src/client', 'src/live', 'src/stubs', 'src/contract'],
  'worker/file': ['src/contract'],
  'worker/log': ['worker/file', 'src/contract'],
  'worker/vfs': ['worker/file', 'src/contract'],
  'worker/sql': ['worker/vfs', 'src/contract'],
  'worker/kv': ['worker/sql', 'src/contract', 'src/serializer'],
  'worker/import': ['worker/sql', 'worker/vfs', 'worker/file', 'src/contract'],
  'worker/storage': [
    'src/live',
    'worker/kv',
    'worker/sql',
    'worker/vfs',
    'worker/log',
    'worker/import',
    'src/contract',
    'src/serializer',
  ],
  'worker/live': ['worker/storage', 'src/contract', 'src/serializer'],
  'worker/io': ['src/contract'],
  'worker/clock': ['src/contract'],
  'worker/alarms': [],
  'worker/catalog': ['worker/file', 'src/contract'],
  'worker/globals': ['src/http', 'src/sockets', 'src/io'],
  'worker/sockets': ['src/sockets', 'src/io'],
  'worker/instance': [
    'worker/live',
    'src/live',
    'worker/sockets',
    'worker/alarms',
    'worker/catalog',
    'worker/io',
    'worker/storage',
    'worker/sql',
    'worker/log',
    'worker/file',
    'src/sockets',
    'src/io',
    'src/contract',
    'src/serializer',
  ],
  'worker/host': [
    'worker/instance',
    'worker/log',
    'worker/file',
    'worker/sockets',
    'worker/alarms',
    'worker/clock',
    'worker/catalog',
    'worker/io',
    'worker/import',
    'worker/sql',
    'src/stubs',
    'src/io',
    'src/contract',
  ],
  'worker/calls': [
    'worker/host',
    'worker/instance',
    'worker/io',
    'worker/live',
    'src/live',
    'src/serializer',
    'src/membrane',
    'src/stubs',
    'src/sockets',
    'src/io',
    'src/rpc',
    'src/contract',
    'src/serializer',
  ],
  'worker/sessions': [
    'worker/host',
    'worker/instance',
    'worker/io',
    'worker/storage',
    'worker/sql',
    'src/stubs',
    'src/rpc',
    'src/contract',
  ],
  'worker/modules': ['src/io'],
  'worker/library': ['worker/instance', 'src/membrane', 'src/stubs', 'src/io', 'src/contract'],
  'src/management/schedule': ['src/contract'],
  'src/management/call': [],
  'src/management/resources': ['src/management/call', 'src/contract'],
  'src/management/routes': [
    'src/management/resources',
    'src/management/call',
    'src/management/schedule',
  ],
  'src/management/objects': [
    'src/management/routes',
    'src/management/resources',
    'src/management/call',
    'src/contract',
  ],
  'src/management/changes': [
    'src/management/routes',
    'src/management/resources',
    'src/management/call',
    'src/management/schedule',
  ],
  'src/management/edge': [
    'src/management/changes',
    'src/management/objects',
    'src/management/routes',
    'src/management/resources',
    'src/management/call',
    'src/management/schedule',
  ],
  'src/management/adapters': [
    'src/management/edge',
    'src/management/objects',
    'src/management/call',
    'src/management/schedule',
    'src/contract',
  ],
  'src/management/report': ['src/management/schedule', 'src/contract'],
  'src/management': [
    'src/management/adapters',
    'src/management/edge',
    'src/management/objects',
    'src/management/report',
    'src/management/schedule',
  ],
  'src/cli': [
    'src/management/adapters',
    'src/management/objects',
    'src/management/report',
    'src/management/schedule',
    'src/contract',
  ],
  'worker/boot': [
    'worker/library',
    'worker/sessions',
    'worker/calls',
    'worker/host',
    'worker/instance',
    'worker/globals',
    'worker/clock',
    'worker/catalog',
    'worker/io',
    'worker/storage',
    'worker/sql',
    'worker/vfs',
    'worker/file',
    'src/rpc',
    'src/io',
    'src/contract',
  ],
  'worker/source': ['worker/library', 'worker/instance', 'src/rpc', 'src/contract'],
  'worker/entries': [
    'worker/source',
    'worker/boot',
    'worker/library',
    'worker/sessions',
    'worker/calls',
    'worker/clock',
    'worker/host',
    'worker/instance',
    'worker/catalog',
    'worker/sql',
    'worker/vfs',
    'worker/file',
    'src/client',
    'src/live',
    'src/membrane',
    'src/stubs',
    'src/contract',
  ],
};

/** The program of the command line is where page and worker meet. */
export const PROGRAM = 'src/cli/node-main.ts';

/** Handles on objects in the same process: a page's client, on sessions of the worker. */
export const LOCAL_STORAGE = 'worker/entries/local-storage.ts';

/** Tools of the tests and the build may import everything, and no product file imports them. */
const TOOLS = [
  'src/testing',
  'worker/testing',
  'worker/sim',
  'worker/sim/put-back',
  'worker/vfs/build',
];

/** The demo is a user: it imports what the package exports. */
const ENTRIES = [
  'src/index.ts',
  'src/inspector/index.ts',
  'src/connect-source.ts',
  'src/management/index.ts',
  'src/vite/client.d.ts',
  'worker/entries/objects.ts',
  'worker/entries/in-process.ts',
  // As texts: the declarations of what objects find in `ctx`.
  'src/contract/object.ts?raw',
  'src/contract/storage.ts?raw',
];

/** Whether the file is a tool, and not part of the product. */
export function isTool(file: string): boolean {
  return TOOLS.includes(dirname(file));
}

/** The product a file belongs to: the storage, or the management interface built on it. */
export function productOf(file: string): 'storage' | 'management' {
  const folder = dirname(file);
  return folder === 'src/cli' || folder.startsWith('src/management') ? 'management' : 'storage';
}

/** Why `file` may not import `target`; undefined when it may. */
export function importFault(file: string, target: string): string | undefined {
  const [from, to] = [dirname(file), dirname(target)];
  if (isTool(file)) return undefined;
  if (isTool(target)) return 'the product imports a tool';
  if (from.startsWith('demo')) {
    const isOwn = target.startsWith('demo/') || ENTRIES.includes(target);
    return isOwn ? undefined : 'the demo imports what the package does not export';
  }
  const allowed = allowedFolders(file);
  if (allowed === undefined) return `${from} has no layer`;
  return to === from || allowed.includes(to) ? undefined : `${from} is not above ${to}`;
}

function allowedFolders(file: string): readonly string[] | undefined {
  const folder = dirname(file);
  if (file === PROGRAM) return [...(LAYERS[folder] ?? []), 'worker/entries'];
  return LAYERS[folder];
}
