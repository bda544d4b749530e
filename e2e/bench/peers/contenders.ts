// The contenders, each in its best durable configuration, and the sources of its files.

import {
  type Contender,
  contender,
  LIMITS,
  OURS,
  SMALL_CONTENDERS,
} from '../../../demo/bench/contenders.ts';

export { type Contender, LIMITS, OURS };
export const BY_COMLINK = 'limit by comlink';

export const CONTENDERS: readonly Contender[] = [
  SMALL_CONTENDERS.ours,
  contender('sahpool, DELETE', 'official', { journal: 'delete' }),
  SMALL_CONTENDERS.sahpoolWal,
  contender('wa-sqlite, OPFSWriteAhead', 'wa-sqlite', { variant: 'OPFSWriteAheadVFS' }),
  contender('wa-sqlite, OPFSCoopSync', 'wa-sqlite', { variant: 'OPFSCoopSyncVFS' }),
  contender('wa-sqlite, AccessHandlePool', 'wa-sqlite', {
    variant: 'AccessHandlePoolVFS',
    journal: 'wal',
  }),
  contender('sqlocal', 'sqlocal'),
  contender('PGlite', 'pglite'),
  SMALL_CONTENDERS.idbStrict,
  SMALL_CONTENDERS.idbRelaxed,
  SMALL_CONTENDERS.limits,
  contender(BY_COMLINK, 'comlink'),
];

/** Scripts by the name under which they are served, and files that lie beside them. */
export interface Kit {
  readonly scripts: Readonly<Record<string, string>>;
  readonly files?: readonly string[];
}

const HERE = 'e2e/bench/peers';
const IN_PAGE = 'demo/bench';
const SQLITE = 'node_modules/@sqlite.org/sqlite-wasm/dist/sqlite3.wasm';
const SQLOCAL = 'node_modules/sqlocal';
const PGLITE = 'node_modules/@electric-sql/pglite/dist';

const remote = (worker: string, ...files: string[]): Kit => ({
  scripts: { page: `${HERE}/remote.page.ts`, worker: `${worker}.worker.ts` },
  files,
});

export const KITS: Readonly<Record<string, Kit>> = {
  ours: {
    scripts: {
      page: `${HERE}/ours.page.ts`,
      worker: 'worker/start/entries/storage-worker.ts',
      'class-worker': `${IN_PAGE}/ours.worker.ts`,
    },
    files: ['worker/engine/vfs/sqlite3.wasm'],
  },
  'ours-class': {
    scripts: {
      page: `${HERE}/ours-class.page.ts`,
      'class-worker': `${IN_PAGE}/ours.worker.ts`,
    },
    files: ['worker/engine/vfs/sqlite3.wasm'],
  },
  versions: {
    scripts: {
      page: 'e2e/bench/against/measures.ts',
      worker: 'e2e/bench/against/bench.worker.ts',
    },
    files: ['worker/engine/vfs/sqlite3.wasm'],
  },
  official: remote(`${IN_PAGE}/official`, SQLITE),
  'wa-sqlite': remote(
    `${HERE}/wa-sqlite`,
    'node_modules/@journeyapps/wa-sqlite/dist/wa-sqlite.wasm',
  ),
  pglite: remote(
    `${HERE}/pglite`,
    ...['pglite.wasm', 'pglite.data', 'initdb.wasm'].map((f) => `${PGLITE}/${f}`),
  ),
  limits: remote(`${IN_PAGE}/limits`, SQLITE),
  comlink: {
    scripts: { page: `${HERE}/comlink.page.ts`, worker: `${HERE}/comlink.worker.ts` },
    files: [SQLITE],
  },
  idb: { scripts: { page: `${HERE}/idb.page.ts`, worker: `${IN_PAGE}/idb.worker.ts` } },
  sqlocal: {
    scripts: { page: `${HERE}/sqlocal.page.ts`, worker: `${SQLOCAL}/dist/worker.js` },
    files: [
      `${SQLOCAL}/${SQLITE}`,
      `${SQLOCAL}/node_modules/@sqlite.org/sqlite-wasm/dist/sqlite3-opfs-async-proxy.js`,
    ],
  },
};
