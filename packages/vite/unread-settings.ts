// Finds the settings of a wrangler file that have no effect here, and warns of them by name: nothing reads them, an
// environment does not inherit them, or wrangler does not read them at their place either.
//
// Invariant: each setting of the file is read, or named in a warning or an error.

type Fields = Readonly<Record<string, unknown>>;

/** Settings that need no warning: an address for editors, and names of migrations that only a deployment compares. */
const WITHOUT_WARNING: ReadonlySet<string> = new Set(['$schema', 'migrations.tag']);

/** Settings that wrangler reads only at the top of the file, and ignores in an environment. */
const TOP_LEVEL_ONLY: ReadonlySet<string> = new Set([
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

/** The sections that an environment does not inherit from the top of the file. */
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

/** The settings of one environment of a file, including those that it inherits. */
export interface ChosenFile {
  readonly fields: Fields;
  readonly warnings: readonly string[];
}

/**
 * Returns the settings of an environment.
 *
 * @throws Error that names the environments, if there is no such environment
 */
export function environmentIn(file: Fields, name: string | undefined, path: string): ChosenFile {
  if (name === undefined) return { fields: file, warnings: [] };
  const environments = (file.env ?? {}) as Record<string, Fields>;
  const derivedName = typeof file.name === 'string' && { name: `${file.name}-${name}` };
  const known = Object.keys(environments);
  if (known.length === 0) {
    const warning = `there is no environment "${name}", so the top of the file is used.`;
    return { fields: { ...file, ...derivedName }, warnings: [warning] };
  }
  if (!known.includes(name)) {
    throw new Error(
      `${path}: there is no environment "${name}"; there are: ${known.join(', ')}. It is named by the option for it, or by ` +
        'CLOUDFLARE_ENV.',
    );
  }
  const given = Object.entries(environments[name]!);
  const own = Object.fromEntries(given.filter(([key]) => !TOP_LEVEL_ONLY.has(key)));
  const notInheritable = Object.keys(file).filter((key) => NOT_INHERITED.has(key));
  const notInherited = notInheritable.filter((key) => !Object.hasOwn(own, key));
  const misplaced = given.filter(([key]) => TOP_LEVEL_ONLY.has(key)).map(([key]) => key);
  const inherited = Object.entries(file).filter(([key]) => !notInheritable.includes(key));
  const warnings = [
    notInherited.length > 0 &&
      `${notInherited.join(', ')}: the environment "${name}" does not inherit these settings from the top of the file; repeat them ` +
        'in it.',
    misplaced.length > 0 &&
      `${misplaced.map((key) => `env.${name}.${key}`).join(', ')}: these settings have an effect at the top of the file only.`,
  ];
  return {
    fields: { ...Object.fromEntries(inherited), ...derivedName, ...own },
    warnings: warnings.filter((warning) => warning !== false),
  };
}

/**
 * Returns a warning that names the settings without an effect. `read` is the part of the file that is read, `unused`
 * are settings in it that this program does not use, and `named` are sections with errors or warnings of their own.
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
  const all = new Set([...pathsNotIn(others, read), ...unused]);
  const names = [...all].filter((path) => !WITHOUT_WARNING.has(path));
  return names.length === 0
    ? []
    : [`${names.sort().join(', ')}: these settings have no effect here.`];
}

/** Returns the paths of the members that `read` lacks, without the indexes of lists. */
function pathsNotIn(file: unknown, read: unknown, path = ''): string[] {
  if (file === read || !isObject(file) || !isObject(read)) return [];
  return Object.entries(file).flatMap(([key, value]) => {
    const place = Array.isArray(file) ? path : path === '' ? key : `${path}.${key}`;
    return Object.hasOwn(read, key) ? pathsNotIn(value, read[key], place) : [place];
  });
}

/** Returns whether a file has a setting at a path, or an element of a list on the path has it. */
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
