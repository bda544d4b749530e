// Libraries that were written for workerd, unmodified, each in a class of its own. The same files run
// in workerd and in browsers; the result of each method must be equal in both.

export { Actors } from './classes/actors.ts';
export { Desk } from './classes/agent.ts';
export { Capn } from './classes/capnweb.ts';
export { Documents } from './classes/documents.ts';
export { Library } from './classes/drizzle.ts';
export { Hono } from './classes/hono.ts';
export { KeptJobs, KeptNotes, KeptParty } from './classes/kept.ts';
export { Kysely } from './classes/kysely.ts';
export { Orpc } from './classes/orpc.ts';
export { Party } from './classes/party.ts';
export { People } from './classes/people.ts';
export { Qb } from './classes/qb.ts';
export { Shelf } from './classes/shelf.ts';
export { Stores } from './classes/stores.ts';
export { Bases } from './classes/tinybase.ts';
