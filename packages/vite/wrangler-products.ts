// The members of `env` that a project's wrangler file names beside its classes: the sections of other products.
//
// Invariant: a member that does not exist here is named, with its section.

import * as v from 'valibot';
import { type MigrationPlace, migrationPlace } from './migration-files.ts';

// valibot accepts arrays as objects.
export const Section = v.custom<object>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'Expected an object',
);

/** A section that is an object. */
const group = <Entries extends v.ObjectEntries>(entries: Entries) =>
  v.pipe(Section, v.object(entries));

/** A section that is a list of entries with a name in `env`. */
const list = <Entries extends v.ObjectEntries>(entries: Entries) =>
  v.optional(v.array(v.object(entries)), []);

const binding = v.string();
const text = v.optional(v.string());
const number = v.optional(v.number());

export const PRODUCT_SECTIONS = {
  kv_namespaces: list({ binding, id: text, preview_id: text }),
  d1_databases: list({
    binding,
    database_id: text,
    preview_database_id: text,
    database_name: text,
    migrations_dir: text,
    migrations_pattern: text,
    migrations_table: text,
  }),
  r2_buckets: list({ binding, bucket_name: text, preview_bucket_name: text }),
  queues: v.optional(
    group({
      producers: list({ binding, queue: text, delivery_delay: number }),
      consumers: list({
        queue: v.string(),
        max_batch_size: number,
        max_batch_timeout: number,
        max_retries: number,
        retry_delay: number,
        dead_letter_queue: text,
      }),
    }),
    { producers: [], consumers: [] },
  ),
  ratelimits: list({
    name: v.string(),
    namespace_id: text,
    simple: v.object({ limit: v.number(), period: v.number() }),
  }),
  services: list({ binding, service: v.string(), entrypoint: text }),
  triggers: v.optional(group({ crons: v.optional(v.array(v.string()), []) }), { crons: [] }),
  assets: v.optional(
    group({
      directory: text,
      binding: text,
      not_found_handling: v.optional(
        v.picklist(['none', '404-page', 'single-page-application']),
        'none',
      ),
      html_handling: v.optional(
        v.picklist(['auto-trailing-slash', 'force-trailing-slash', 'drop-trailing-slash', 'none']),
        'auto-trailing-slash',
      ),
      run_worker_first: v.optional(v.union([v.boolean(), v.array(v.string())]), false),
    }),
  ),
} as const;

const Products = v.object(PRODUCT_SECTIONS);

export type Products = v.InferOutput<typeof Products>;

/** The function of `ctx-storage/bindings` that makes a member of `env`, and its options. */
export interface MemberCall {
  readonly make: 'kv' | 'd1' | 'r2' | 'queue' | 'rateLimit';
  readonly options: object;
  /** Of a D1 database. */
  readonly migrations?: MigrationPlace;
}

/** A member of `env` that does not exist here. */
export interface MissingMember {
  readonly name: string;
  readonly section: string;
}

/** Where a service binding leads. */
export interface OwnService {
  readonly service: string;
  readonly entrypoint?: string;
}

/** Members of `env`, by their names. */
export function memberCalls(products: Products): Record<string, MemberCall> {
  const { kv_namespaces, d1_databases, r2_buckets, ratelimits } = products;
  return Object.fromEntries<MemberCall>([
    ...kv_namespaces.map(({ binding, id, preview_id }) =>
      entry(binding, 'kv', { id: preview_id ?? id }),
    ),
    ...d1_databases.map((database) => {
      const { binding, preview_database_id, database_id, database_name } = database;
      const { migrations_dir, migrations_pattern, migrations_table: migrationsTable } = database;
      const id = preview_database_id ?? database_id ?? database_name;
      const [name, call] = entry(binding, 'd1', { id, migrationsTable });
      const migrations = migrationPlace(migrations_dir, migrations_pattern);
      return [name, { ...call, migrations }] as const;
    }),
    ...r2_buckets.map(({ binding, bucket_name, preview_bucket_name }) =>
      entry(binding, 'r2', { id: preview_bucket_name ?? bucket_name }),
    ),
    ...ratelimits.map(({ name, namespace_id: id, simple }) =>
      entry(name, 'rateLimit', { id, ...simple }),
    ),
    ...queuesOf(products),
  ]);
}

/** A queue that is consumed, and to which this worker sends nothing, is a member with its own name. */
function queuesOf({ queues: { producers, consumers } }: Products) {
  const consumerOf = new Map(consumers.map((consumer) => [consumer.queue, consumer]));
  const sent = producers.map(({ binding, queue = binding, delivery_delay: deliveryDelay }) => {
    const consumer = consumerOf.get(queue);
    consumerOf.delete(queue); // it has one consumer, whichever binding sends to it
    return { binding, queue, deliveryDelay, consumer };
  });
  const received = [...consumerOf.values()].map((consumer) => {
    return { binding: consumer.queue, queue: consumer.queue, deliveryDelay: undefined, consumer };
  });
  return [...sent, ...received].map(({ binding, queue: name, deliveryDelay, consumer: given }) => {
    const consumer =
      given &&
      defined({
        maxBatchSize: given.max_batch_size,
        maxBatchTimeout: given.max_batch_timeout,
        maxRetries: given.max_retries,
        retryDelay: given.retry_delay,
        deadLetterQueue: given.dead_letter_queue,
      });
    return entry(binding, 'queue', { name, deliveryDelay, consumer });
  });
}

function entry(name: string, make: MemberCall['make'], options: object) {
  return [name, { make, options: defined(options) }] as const;
}

function defined(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** Service bindings that lead to certain workers. */
export function servicesTo(
  { services }: Products,
  isOne: (service: string) => boolean,
): Record<string, OwnService> {
  const own = services.filter(({ service }) => isOne(service));
  return Object.fromEntries(
    own.map(({ binding, service, entrypoint }) => [
      binding,
      { service, ...(entrypoint !== undefined && { entrypoint }) },
    ]),
  );
}

/** Most sections call the name in `env` `binding`, at any depth; these call it `name`. */
const BY_NAME: ReadonlySet<string> = new Set([
  'durable_objects',
  'logfwdr',
  'ratelimits',
  'send_email',
  'unsafe',
]);

/** In these, each key is a name in `env`. */
const BY_KEY: ReadonlySet<string> = new Set(['data_blobs', 'text_blobs', 'vars', 'wasm_modules']);

/** Sections that bind no members of `env`: their keys are names that the author chooses, or they belong to other deployments. */
const WITHOUT_MEMBERS: ReadonlySet<string> = new Set(['alias', 'define', 'env', 'previews']);

/** The namespace in which wrangler puts the files of the section `site`. */
const SITE = '__STATIC_CONTENT';

const BLOB = 'Import the file as a module.';

/** Ways out, by section, that are better than a stand-in. */
export const WAYS_OUT: Readonly<Record<string, string>> = {
  data_blobs: BLOB,
  site: 'Serve the files by the section assets.',
  text_blobs: BLOB,
  wasm_modules: BLOB,
};

type File = Products & Readonly<Record<string, unknown>>;

export function missingMembers(file: File, scriptName: string | undefined): MissingMember[] {
  const foreign = file.services.filter(({ service }) => service !== scriptName);
  const others = Object.entries(file).filter(
    ([section]) =>
      !(section in PRODUCT_SECTIONS) && section !== 'vars' && section !== 'durable_objects',
  );
  const sections = [...others, ['services', foreign], ['assets', file.assets]] as const;
  return sections.flatMap(([section, value]) =>
    namesIn(section, value).map(({ name }) => ({ name, section })),
  );
}

/** Where the file names a member. */
type Place = readonly (string | number)[];

/** A name that two members of `env` have, and the places of both; undefined: there is none. */
export function repeatedName(
  file: Readonly<Record<string, unknown>>,
): { readonly name: string; readonly first: Place; readonly second: Place } | undefined {
  const places = new Map<string, Place>();
  const all = Object.entries(file).flatMap(([section, value]) => namesIn(section, value));
  for (const { name, at: second } of all) {
    const first = places.get(name);
    if (first !== undefined) return { name, first, second };
    places.set(name, second);
  }
  return undefined;
}

interface Name {
  readonly name: string;
  readonly at: Place;
}

function namesIn(section: string, value: unknown): Name[] {
  if (WITHOUT_MEMBERS.has(section)) return [];
  if (section === 'site') return value === undefined ? [] : [{ name: SITE, at: [section] }];
  if (BY_KEY.has(section)) {
    return Object.keys(value ?? {}).map((name) => ({ name, at: [section, name] }));
  }
  return named(value, BY_NAME.has(section) ? 'name' : 'binding', [section]);
}

function named(value: unknown, key: string, at: Place): Name[] {
  if (typeof value !== 'object' || value === null) return [];
  const name: unknown = Reflect.get(value, key);
  if (typeof name === 'string') return [{ name, at: [...at, key] }];
  const isList = Array.isArray(value);
  return Object.entries(value).flatMap(([entry, member]) =>
    named(member, key, [...at, isList ? Number(entry) : entry]),
  );
}
