// Defines the contenders that a page can run by itself, each in its best durable configuration.

import type { Configuration } from './store.ts';

export interface Contender {
  /** The name of the contender in the table. */
  readonly name: string;
  /** Names the library, and so the scripts that are loaded. */
  readonly kit: string;
  readonly configuration: Configuration;
  /** Whether a write is on disk when it is acknowledged. */
  readonly durable: boolean;
}

/** The contender that all others are compared with: this package. */
export const OURS = 'ctx-storage';
export const LIMITS = 'limit';

export function contender(name: string, kit: string, more: Partial<Configuration> = {}): Contender {
  return {
    name,
    kit,
    // The names of the contender's stored data begin with this text, which nothing else of the origin does.
    configuration: { name: `bench-${name.replaceAll(/[^a-z]+/gi, '-')}`, ...more },
    durable: more.variant !== 'relaxed',
  };
}

/** Contenders that need only SQLite's official build, `idb` and this package. */
export const SMALL_CONTENDERS = {
  ours: contender(OURS, 'ours'),
  sahpoolWal: contender('sahpool, WAL', 'official', { journal: 'wal' }),
  idbStrict: contender('idb, strict', 'idb', { variant: 'strict' }),
  idbRelaxed: contender('idb, relaxed', 'idb', { variant: 'relaxed' }),
  limits: contender(LIMITS, 'limits'),
} as const;
