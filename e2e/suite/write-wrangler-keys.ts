// Writes packages/workers/vitest/wrangler-keys.json: the settings of wrangler's configuration file, from the schema in the package `wrangler`.
//
//   npx tsx e2e/suite/write-wrangler-keys.ts <folder of the package wrangler>
//
// A path has `[]` for each element of a list, and `*` for a name of the author's choice. A setting's kind is its type, or its
// possible values; `!` follows where the setting is required. `previews` and `env` have the settings of the
// file again; only the names of the latter are listed.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
}

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('Name the folder of the package wrangler.');
const read = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8'));
const { definitions } = read('config-schema.json') as { definitions: Record<string, Schema> };

function resolved(schema: Schema): Schema {
  if (schema.$ref === undefined) return schema;
  const name = decodeURIComponent(schema.$ref.replace('#/definitions/', ''));
  return resolved(definitions[name]!);
}

const alternativesOf = ({ anyOf = [], allOf = [] }: Schema) => [...anyOf, ...allOf].map(resolved);

function kindOf(given: Schema): string {
  const schema = resolved(given);
  const constants = [schema, ...alternativesOf(schema)].flatMap((each) =>
    each.const === undefined ? (each.enum ?? []) : [each.const],
  );
  if (constants.length > 0) return constants.join('|');
  const types = [schema, ...alternativesOf(schema)].flatMap(({ type = [] }) => type);
  return [...new Set(types)].join('|');
}

const kinds = new Map<string, Set<string>>();

/** `above`: the schemas around this one, of which one may contain itself. */
function walk(given: Schema, path: string, above: readonly Schema[] = []): void {
  const schema = resolved(given);
  if (above.includes(schema)) return;
  const around = [...above, schema];
  for (const alternative of alternativesOf(schema)) walk(alternative, path, around);
  if (schema.items !== undefined) walk(schema.items, `${path}[]`, around);
  if (typeof schema.additionalProperties === 'object') {
    walk(schema.additionalProperties, `${path}.*`, around);
  }
  for (const [key, member] of Object.entries(schema.properties ?? {})) {
    const place = path === '' ? key : `${path}.${key}`;
    if (place === 'env') continue;
    const kind = kindOf(member) + (schema.required?.includes(key) ? '!' : '');
    kinds.set(place, (kinds.get(place) ?? new Set()).add(kind));
    if (place !== 'previews') walk(member, place, around);
  }
}

walk(definitions.RawConfig!, '');

const keys = Object.fromEntries([...kinds].map(([path, all]) => [path, [...all].join('|')]));
const ofEnvironments = Object.keys(definitions.RawEnvironment!.properties!);
const { version } = read('package.json') as { version: string };
writeFileSync(
  new URL('../../packages/workers/vitest/wrangler-keys.json', import.meta.url),
  `${JSON.stringify({ version, ofEnvironments, keys }, null, 2)}\n`,
);
