// Defines the options of miniflare that test suites of the real runtime's plugin pass in addition to their wrangler
// file: more members of `env`, and Workers beside the Worker under test.
//
// Invariant: an option that has no counterpart here fails the start with an error that names the option.

import type { ObjectsConfig } from '@ctx-storage/vite/project';
import { memberCalls, type OwnService } from '@ctx-storage/vite/project';

/** A list of names in `env`, or a map from each name to the id of its data. */
type Names = readonly string[] | Readonly<Record<string, string>>;

/** The target of a service binding: the name of a worker, or one of its exports. */
type Service = string | { readonly name: string; readonly entrypoint?: string };

/** The settings with which the Worker consumes a queue. */
interface Consumer {
  readonly maxBatchSize?: number;
  readonly maxBatchTimeout?: number;
  readonly maxRetries?: number;
  readonly retryDelay?: number;
  readonly deadLetterQueue?: string;
}

/** A Worker beside the Worker under test. It has entry points, values and services, and stores no data. */
export interface AuxiliaryWorker {
  readonly name: string;
  /** The path of the Worker's module, relative to Vite's root. */
  readonly scriptPath: string;
  readonly bindings?: Readonly<Record<string, unknown>>;
  readonly serviceBindings?: Readonly<Record<string, Service>>;
  readonly modules?: boolean;
  readonly compatibilityDate?: string;
  readonly compatibilityFlags?: readonly string[];
}

export interface MiniflareOptions {
  /** The values of `env`, which are JSON. */
  readonly bindings?: Readonly<Record<string, unknown>>;
  readonly compatibilityDate?: string;
  readonly compatibilityFlags?: readonly string[];
  readonly kvNamespaces?: Names;
  readonly d1Databases?: Names;
  readonly r2Buckets?: Names;
  readonly queueProducers?: Names;
  readonly queueConsumers?: readonly string[] | Readonly<Record<string, Consumer>>;
  readonly serviceBindings?: Readonly<Record<string, Service>>;
  readonly workers?: readonly AuxiliaryWorker[];
}

const KNOWN_OPTIONS = new Set<string>([
  'bindings',
  'compatibilityDate',
  'compatibilityFlags',
  'kvNamespaces',
  'd1Databases',
  'r2Buckets',
  'queueProducers',
  'queueConsumers',
  'serviceBindings',
  'workers',
] satisfies (keyof MiniflareOptions)[]);

const KNOWN_OF_WORKERS = new Set<string>([
  'name',
  'scriptPath',
  'bindings',
  'serviceBindings',
  'modules',
  'compatibilityDate',
  'compatibilityFlags',
] satisfies (keyof AuxiliaryWorker)[]);

/** Returns the configuration with these options added. @throws Error that names an option that does not exist here */
export function withMiniflare(config: ObjectsConfig, options: MiniflareOptions): ObjectsConfig {
  const { workers = [], compatibilityDate = config.compatibilityDate, bindings } = options;
  mustBeKnown(options, KNOWN_OPTIONS, 'miniflare');
  for (const worker of workers) {
    mustBeKnown(worker, KNOWN_OF_WORKERS, `miniflare.workers: ${worker.name}`);
  }
  const names = new Set(workers.map(({ name }) => name));
  const others = Object.entries(config.otherServices);
  const reached = others.filter(([, { service }]) => names.has(service));
  const services = {
    ...config.services,
    ...Object.fromEntries(reached),
    ...servicesOf(options.serviceBindings),
  };
  return {
    ...config,
    compatibilityDate,
    compatibilityFlags: [...config.compatibilityFlags, ...(options.compatibilityFlags ?? [])],
    vars: { ...config.vars, ...bindings },
    members: withConsumers({ ...config.members, ...membersOf(options) }, options.queueConsumers),
    services,
    missing: config.missing.filter(({ name }) => !Object.hasOwn(services, name)),
  };
}

/** Converts `services` of an auxiliary Worker to the option of `createObjects`. @throws Error for a function */
export function servicesOf(
  services: Readonly<Record<string, Service>> = {},
): Record<string, OwnService> {
  return Object.fromEntries(
    Object.entries(services).map(([binding, to]) => {
      if (typeof to === 'string') return [binding, { service: to }];
      if (typeof to === 'object' && typeof to.name === 'string') {
        const { name, entrypoint } = to;
        return [binding, { service: name, ...(entrypoint !== undefined && { entrypoint }) }];
      }
      throw new Error(
        `cloudflareTest: miniflare.serviceBindings.${binding} is not the name of a worker. Functions of the ` +
          'configuration run in another process than the tests: export the member from the module of the option doubles.',
      );
    }),
  );
}

function membersOf({
  kvNamespaces,
  d1Databases,
  r2Buckets,
  queueProducers,
}: MiniflareOptions): ObjectsConfig['members'] {
  const entries = (names: Names = {}): [binding: string, id: string][] =>
    Array.isArray(names) ? names.map((name) => [name, name]) : Object.entries(names);
  return memberCalls({
    kv_namespaces: entries(kvNamespaces).map(([binding, id]) => ({ binding, id })),
    d1_databases: entries(d1Databases).map(([binding, database_id]) => ({ binding, database_id })),
    r2_buckets: entries(r2Buckets).map(([binding, bucket_name]) => ({ binding, bucket_name })),
    queues: {
      producers: entries(queueProducers).map(([binding, queue]) => ({ binding, queue })),
      consumers: [],
    },
    ratelimits: [],
    services: [],
    triggers: { crons: [] },
    assets: undefined,
  });
}

function withConsumers(
  members: ObjectsConfig['members'],
  given: MiniflareOptions['queueConsumers'] = {},
): ObjectsConfig['members'] {
  const consumers: Readonly<Record<string, Consumer>> = Array.isArray(given)
    ? Object.fromEntries(given.map((queue) => [queue, {}]))
    : (given as Readonly<Record<string, Consumer>>);
  const changed = { ...members };
  for (const [queue, consumer] of Object.entries(consumers)) {
    const [binding, member] = Object.entries(members).find(
      ([, { make, options }]) => make === 'queue' && Reflect.get(options, 'name') === queue,
    ) ?? [queue, { make: 'queue' as const, options: { name: queue } }];
    const before = Reflect.get(member.options, 'consumer') as Consumer | undefined;
    changed[binding] = {
      ...member,
      options: { ...member.options, consumer: { ...before, ...consumer } },
    };
  }
  return changed;
}

/** Checks the names of options. @throws Error that names the option that is not known */
export function mustBeKnown(options: object, known: ReadonlySet<string>, place?: string): void {
  const found = Object.keys(options).find((option) => !known.has(option));
  if (found === undefined) return;
  const name = place === undefined ? found : `${place}.${found}`;
  throw new Error(
    `cloudflareTest: ${name} does not exist here; there are: ${[...known].join(', ')}. Give members of env ` +
      'by the module of the option doubles.',
  );
}
