// Reads the sections of a wrangler file that add other products than Durable Objects to `env`, such as KV and D1.
//
// Invariant: each member of `env` that this package does not have is listed with its section.

import * as v from 'valibot';
import { type MigrationPlace, migrationPlace } from './migration-files.ts';

// valibot's own `object` also accepts arrays.
export const Section = v.custom<object>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'Expected an object',
);

/** Makes the schema of a section that is an object. */
const objectSection = <Entries extends v.ObjectEntries>(entries: Entries) =>
  v.pipe(Section, v.object(entries));

/** Makes the schema of an optional section that is a list of objects. */
const listSection = <Entries extends v.ObjectEntries>(entries: Entries) =>
  v.optional(v.array(v.object(entries)), []);

const binding = v.string();
const text = v.optional(v.string());
const number = v.optional(v.number());

export const PRODUCT_SECTIONS = {
  kv_namespaces: listSection({ binding, id: text, preview_id: text }),
  d1_databases: listSection({
    binding,
    database_id: text,
    preview_database_id: text,
    database_name: text,
    migrations_dir: text,
    migrations_pattern: text,
    migrations_table: text,
  }),
  r2_buckets: listSection({ binding, bucket_name: text, preview_bucket_name: text }),
  queues: v.optional(
    objectSection({
      producers: listSection({ binding, queue: text, delivery_delay: number }),
      consumers: listSection({
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
  ratelimits: listSection({
    name: v.string(),
    namespace_id: text,
    simple: v.object({ limit: v.number(), period: v.number() }),
  }),
  services: listSection({ binding, service: v.string(), entrypoint: text }),
  triggers: v.optional(objectSection({ crons: v.optional(v.array(v.string()), []) }), {
    crons: [],
  }),
  assets: v.optional(
    objectSection({
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
  /** The place of the migrations of a D1 database. */
  readonly migrations?: MigrationPlace;
}

/** A member of `env` that this package does not have, and the section that names it. */
export interface MissingMember {
  readonly name: string;
  readonly section: string;
}

/** The worker and the entry point of a service binding. */
export interface OwnService {
  readonly service: string;
  readonly entrypoint?: string;
}

/** Returns the calls that make the members of `env`, by their names. */
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

/**
 * Returns the queues. A queue that this worker consumes, but does not send to, becomes a member with the name of the
 * queue.
 */
function queuesOf({ queues: { producers, consumers } }: Products) {
  const consumerOf = new Map(consumers.map((consumer) => [consumer.queue, consumer]));
  const producedQueues = producers.map(
    ({ binding, queue = binding, delivery_delay: deliveryDelay }) => {
      const consumer = consumerOf.get(queue);
      consumerOf.delete(queue); // only one binding of a queue gets its consumer, although several may send to it
      return { binding, queue, deliveryDelay, consumer };
    },
  );
  const otherQueues = [...consumerOf.values()].map((consumer) => {
    return { binding: consumer.queue, queue: consumer.queue, deliveryDelay: undefined, consumer };
  });
  return [...producedQueues, ...otherQueues].map(
    ({ binding, queue: name, deliveryDelay, consumer: given }) => {
      const consumer =
        given &&
        withoutUndefined({
          maxBatchSize: given.max_batch_size,
          maxBatchTimeout: given.max_batch_timeout,
          maxRetries: given.max_retries,
          retryDelay: given.retry_delay,
          deadLetterQueue: given.dead_letter_queue,
        });
      return entry(binding, 'queue', { name, deliveryDelay, consumer });
    },
  );
}

function entry(name: string, make: MemberCall['make'], options: object) {
  return [name, { make, options: withoutUndefined(options) }] as const;
}

function withoutUndefined(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** Returns the service bindings of workers for which `isChosen` is true. */
export function servicesTo(
  { services }: Products,
  isChosen: (service: string) => boolean,
): Record<string, OwnService> {
  const own = services.filter(({ service }) => isChosen(service));
  return Object.fromEntries(
    own.map(({ binding, service, entrypoint }) => [
      binding,
      { service, ...(entrypoint !== undefined && { entrypoint }) },
    ]),
  );
}

/**
 * The sections in which the field `name` has the name in `env`. In most others it is the field `binding`, at any depth.
 */
const SECTIONS_WITH_NAME_FIELD: ReadonlySet<string> = new Set([
  'durable_objects',
  'logfwdr',
  'ratelimits',
  'send_email',
  'unsafe',
]);

/** The sections in which each key is a name in `env`. */
const SECTIONS_WITH_KEYS_AS_NAMES: ReadonlySet<string> = new Set([
  'data_blobs',
  'text_blobs',
  'vars',
  'wasm_modules',
]);

/**
 * The sections without members of `env`: their keys are names of the author's choice, or they belong to other
 * deployments.
 */
const WITHOUT_MEMBERS: ReadonlySet<string> = new Set(['alias', 'define', 'env', 'previews']);

/** The member of `env` that has the files of the section `site`. */
const SITE_MEMBER = '__STATIC_CONTENT';

const BLOB_ADVICE = 'Import the file as a module.';

/** Advice for sections whose members have a better replacement than a stand-in. */
export const WAYS_OUT: Readonly<Record<string, string>> = {
  data_blobs: BLOB_ADVICE,
  site: 'Serve the files by the section assets.',
  text_blobs: BLOB_ADVICE,
  wasm_modules: BLOB_ADVICE,
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

/** The path in the file at which a member is named. */
type Place = readonly (string | number)[];

/** Returns a name that two members of `env` have, with both places, or undefined if all names differ. */
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
  if (section === 'site') return value === undefined ? [] : [{ name: SITE_MEMBER, at: [section] }];
  if (SECTIONS_WITH_KEYS_AS_NAMES.has(section)) {
    return Object.keys(value ?? {}).map((name) => ({ name, at: [section, name] }));
  }
  return namesAt(value, SECTIONS_WITH_NAME_FIELD.has(section) ? 'name' : 'binding', [section]);
}

function namesAt(value: unknown, key: string, at: Place): Name[] {
  if (typeof value !== 'object' || value === null) return [];
  const name: unknown = Reflect.get(value, key);
  if (typeof name === 'string') return [{ name, at: [...at, key] }];
  const isList = Array.isArray(value);
  return Object.entries(value).flatMap(([entry, member]) =>
    namesAt(member, key, [...at, isList ? Number(entry) : entry]),
  );
}
