// The settings of a wrangler file that have no effect here, as warnings by name: nothing reads them, an environment does
// not inherit them, or wrangler does not read them in their place either.
//
// Invariant: each setting of the file is read, or is in a warning or an error.

type Fields = Readonly<Record<string, unknown>>;

/** They have no effect anywhere: an address for editors, and names of migrations that only a deployment compares. */
const LABELS: ReadonlySet<string> = new Set(['$schema', 'migrations.tag']);

/** Settings of the whole file: wrangler ignores them in an environment. */
const OF_THE_FILE: ReadonlySet<string> = new Set([
  'addresses',
  'alias',
  'data_blobs',
  'dependencies_instrumentation',
  'dev',
  'env',
  'keep_vars',
  'pages_build_output_dir',
  'send_metrics',
  'site',
  'text_blobs',
  'wasm_modules',
]);

/** Sections that an environment does not inherit from the top of the file. */
const NOT_INHERITED: ReadonlySet<string> = new Set([
  'agent_memory',
  'ai',
  'ai_search',
  'ai_search_namespaces',
  'analytics',
  'analytics_engine_datasets',
  'artifacts',
  'browser',
  'cloudchamber',
  'connect',
  'containers',
  'd1_databases',
  'define',
  'dispatch_namespaces',
  'durable_objects',
  'flagship',
  'hyperdrive',
  'images',
  'k2',
  'kv_namespaces',
  'media',
  'mtls_certificates',
  'pipelines',
  'queues',
  'r2_buckets',
  'ratelimits',
  'secrets',
  'secrets_store_secrets',
  'send_email',
  'services',
  'stream',
  'streaming_tail_consumers',
  'tail_consumers',
  'unsafe',
  'unsafe_hello_world',
  'vars',
  'vectorize',
  'version_metadata',
  'vpc_networks',
  'vpc_services',
  'worker_loaders',
  'workflows',
]);

/** A file as one of its environments has it. */
export interface ChosenFile {
  readonly fields: Fields;
  readonly warnings: readonly string[];
}

/** @throws Error that names the environments, if this is none of them */
export function environmentIn(file: Fields, name: string | undefined, path: string): ChosenFile {
  if (name === undefined) return { fields: file, warnings: [] };
  const environments = (file.env ?? {}) as Record<string, Fields>;
  const ofName = typeof file.name === 'string' && { name: `${file.name}-${name}` };
  const known = Object.keys(environments);
  if (known.length === 0) {
    const warning = `there is no environment "${name}", so the top of the file is used.`;
    return { fields: { ...file, ...ofName }, warnings: [warning] };
  }
  if (!known.includes(name)) {
    throw new Error(
      `${path}: there is no environment "${name}"; there are: ${known.join(', ')}. It is named by the option for it, or by ` +
        'CLOUDFLARE_ENV.',
    );
  }
  const given = Object.entries(environments[name]!);
  const own = Object.fromEntries(given.filter(([key]) => !OF_THE_FILE.has(key)));
  const above = Object.keys(file).filter((key) => NOT_INHERITED.has(key));
  const left = above.filter((key) => !Object.hasOwn(own, key));
  const misplaced = given.filter(([key]) => OF_THE_FILE.has(key)).map(([key]) => key);
  const inherited = Object.entries(file).filter(([key]) => !above.includes(key));
  const warnings = [
    left.length > 0 &&
      `${left.join(', ')}: the environment "${name}" does not inherit these settings from the top of the file; repeat them ` +
        'in it.',
    misplaced.length > 0 &&
      `${misplaced.map((key) => `env.${name}.${key}`).join(', ')}: these settings have an effect at the top of the file only.`,
  ];
  return {
    fields: { ...Object.fromEntries(inherited), ...ofName, ...own },
    warnings: warnings.filter((warning) => warning !== false),
  };
}

/**
 * A warning that names the settings without an effect. `read`: the part of the file that is read. `unused`: settings of
 * it that this program does not use. `named`: sections with errors or warnings of their own.
 */
export function unreadSettings(
  file: Fields,
  read: Fields,
  unused: readonly string[],
  named: ReadonlySet<string>,
): string[] {
  const others = Object.fromEntries(
    Object.entries(file).filter(([section]) => section !== 'env' && !named.has(section)),
  );
  const all = new Set([...notIn(others, read), ...unused]);
  const names = [...all].filter((path) => !LABELS.has(path));
  return names.length === 0
    ? []
    : [`${names.sort().join(', ')}: these settings have no effect here.`];
}

/** Paths of the members that `read` lacks, without the numbers of lists. */
function notIn(file: unknown, read: unknown, path = ''): string[] {
  if (file === read || !isObject(file) || !isObject(read)) return [];
  return Object.entries(file).flatMap(([key, value]) => {
    const place = Array.isArray(file) ? path : path === '' ? key : `${path}.${key}`;
    return Object.hasOwn(read, key) ? notIn(value, read[key], place) : [place];
  });
}

/** Whether a file has a setting, or an element of a list has it. */
export function hasSetting(file: Fields, path: string): boolean {
  return valuesAt(file, path.split('.')).length > 0;
}

function valuesAt(value: unknown, [key, ...rest]: readonly string[]): unknown[] {
  if (Array.isArray(value)) {
    return value.flatMap((each) => valuesAt(each, key === undefined ? [] : [key, ...rest]));
  }
  if (key === undefined) return [value];
  return isObject(value) && Object.hasOwn(value, key) ? valuesAt(value[key], rest) : [];
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}
