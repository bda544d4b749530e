// The libraries of the suite: the package of each, the class that uses it, and the talk with its objects.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { talk as agentTalk } from './agent-talk.ts';
import { talk as documentTalk } from './document-talk.ts';
import type { Talk } from './listener.ts';
import { talk as partyTalk } from './party-talk.ts';

export interface Program {
  readonly packageName: string;
  readonly className: string;
  /** The class has a method `run`, which returns its findings by name. */
  readonly runs: boolean;
  /** A conversation with an object of the class, and the module that has it. */
  readonly talk?: { readonly with: Talk; readonly module: string };
}

const AGENT_TALK = { with: agentTalk, module: '/e2e/workerd/libraries/agent-talk.ts' };
const DOCUMENT_TALK = { with: documentTalk, module: '/e2e/workerd/libraries/document-talk.ts' };
const PARTY_TALK = { with: partyTalk, module: '/e2e/workerd/libraries/party-talk.ts' };

export const PROGRAMS: readonly Program[] = [
  { packageName: 'agents', className: 'Desk', runs: true, talk: AGENT_TALK },
  { packageName: '@cloudflare/actors', className: 'Actors', runs: true },
  { packageName: 'capnweb', className: 'Capn', runs: true },
  { packageName: 'drizzle-orm', className: 'Library', runs: true },
  { packageName: 'hono', className: 'Hono', runs: true },
  { packageName: 'kysely', className: 'Kysely', runs: true },
  { packageName: '@orpc/server', className: 'Orpc', runs: true },
  { packageName: 'partyserver', className: 'Party', runs: false, talk: PARTY_TALK },
  { packageName: 'tinybase', className: 'Bases', runs: true },
  { packageName: 'workers-qb', className: 'Qb', runs: true },
  { packageName: 'y-partyserver', className: 'Documents', runs: false, talk: DOCUMENT_TALK },
];

/** Not a library, but the API that libraries need. */
export const STORES: Program = { packageName: 'node:async_hooks', className: 'Stores', runs: true };

/** Kysely with the dialect of this package. */
export const PEOPLE: Program = { packageName: 'kysely', className: 'People', runs: true };

/** Drizzle with the migrations of this package. */
export const SHELF: Program = { packageName: 'drizzle-orm', className: 'Shelf', runs: true };

/** The version that is installed. */
export function installedVersion(packageName: string): string {
  const path = join(import.meta.dirname, '../../../node_modules', packageName, 'package.json');
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
}
