// Who is compared, each in its best durable configuration, and what its files are made of.

import type { Configuration } from './store.ts';

export interface Contender {
  /** As the table calls it. */
  readonly name: string;
  /** The folder of its files in KITS. */
  readonly kit: string;
  readonly configuration: Configuration;
  /** A write is on disk when it is acknowledged. */
  readonly durable: boolean;
}

/** What is compared with: neither is an engine. */
export const OURS = 'ctx-storage';
export const LIMITS = 'limit';
export const BY_COMLINK = 'limit by comlink';

const contender = (name: string, kit: string, more: Partial<Configuration> = {}): Contender => ({
  name,
  kit,
  configuration: { name: name.replaceAll(/[^a-z]+/gi, '-'), ...more },
  durable: more.variant !== 'relaxed',
});

export const CONTENDERS: readonly Contender[] = [
  contender(OURS, 'ours'),
  contender('sahpool, DELETE', 'official', { journal: 'delete' }),
  contender('sahpool, WAL', 'official', { journal: 'wal' }),
  contender('wa-sqlite, OPFSWriteAhead', 'wa-sqlite', { variant: 'OPFSWriteAheadVFS' }),
  contender('wa-sqlite, OPFSCoopSync', 'wa-sqlite', { variant: 'OPFSCoopSyncVFS' }),
  contender('wa-sqlite, AccessHandlePool', 'wa-sqlite', {
    variant: 'AccessHandlePoolVFS',
    journal: 'wal',
  }),
  contender('sqlocal', 'sqlocal'),
  contender('PGlite', 'pglite'),
  contender('idb, strict', 'idb', { variant: 'strict' }),
  contender('idb, relaxed', 'idb', { variant: 'relaxed' }),
  contender(LIMITS, 'limits'),
  contender(BY_COMLINK, 'comlink'),
];

/** Scripts by the name under which they are served, and files that lie beside them. */
export interface Kit {
  readonly scripts: Readonly<Record<string, string>>;
  readonly files?: readonly string[];
}

const HERE = 'e2e/bench/peers';
const SQLITE = 'node_modules/@sqlite.org/sqlite-wasm/dist/sqlite3.wasm';
const SQLOCAL = 'node_modules/sqlocal';
const PGLITE = 'node_modules/@electric-sql/pglite/dist';

const remote = (worker: string, ...files: string[]): Kit => ({
  scripts: { page: `${HERE}/remote.page.ts`, worker: `${HERE}/${worker}.worker.ts` },
  files,
});

export const KITS: Readonly<Record<string, Kit>> = {
  ours: {
    scripts: {
      page: `${HERE}/ours.page.ts`,
      worker: 'worker/entries/storage-worker.ts',
      'class-worker': `${HERE}/ours.worker.ts`,
    },
    files: ['worker/vfs/sqlite3.wasm'],
  },
  official: remote('official', SQLITE),
  'wa-sqlite': remote('wa-sqlite', 'node_modules/@journeyapps/wa-sqlite/dist/wa-sqlite.wasm'),
  pglite: remote(
    'pglite',
    ...['pglite.wasm', 'pglite.data', 'initdb.wasm'].map((f) => `${PGLITE}/${f}`),
  ),
  limits: remote('limits', SQLITE),
  comlink: {
    scripts: { page: `${HERE}/comlink.page.ts`, worker: `${HERE}/comlink.worker.ts` },
    files: [SQLITE],
  },
  idb: { scripts: { page: `${HERE}/idb.page.ts`, worker: `${HERE}/idb.worker.ts` } },
  sqlocal: {
    scripts: { page: `${HERE}/sqlocal.page.ts`, worker: `${SQLOCAL}/dist/worker.js` },
    files: [
      `${SQLOCAL}/${SQLITE}`,
      `${SQLOCAL}/node_modules/@sqlite.org/sqlite-wasm/dist/sqlite3-opfs-async-proxy.js`,
    ],
  },
};
