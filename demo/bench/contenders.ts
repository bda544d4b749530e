// Who is compared, each in its best durable configuration: those that a page can run by itself.

import type { Configuration } from './store.ts';

export interface Contender {
  /** As the table calls it. */
  readonly name: string;
  /** What it is made of: its scripts. */
  readonly kit: string;
  readonly configuration: Configuration;
  /** A write is on disk when it is acknowledged. */
  readonly durable: boolean;
}

/** What is compared with: neither is an engine. */
export const OURS = 'ctx-storage';
export const LIMITS = 'limit';

export function contender(name: string, kit: string, more: Partial<Configuration> = {}): Contender {
  return {
    name,
    kit,
    // What it stores has this name too, which nothing else of the origin has.
    configuration: { name: `bench-${name.replaceAll(/[^a-z]+/gi, '-')}`, ...more },
    durable: more.variant !== 'relaxed',
  };
}

/** Those that need no more than SQLite's official build, `idb` and this package. */
export const SMALL_CONTENDERS = {
  ours: contender(OURS, 'ours'),
  sahpoolWal: contender('sahpool, WAL', 'official', { journal: 'wal' }),
  idbStrict: contender('idb, strict', 'idb', { variant: 'strict' }),
  idbRelaxed: contender('idb, relaxed', 'idb', { variant: 'relaxed' }),
  limits: contender(LIMITS, 'limits'),
} as const;
