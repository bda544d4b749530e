import { describe, expect, test } from 'vitest';
import { kindsBy } from './module-rules.ts';
import { mainOf, parseWranglerConfig } from './wrangler-config.ts';

const parse = (text: string, varNames?: string[]) =>
  parseWranglerConfig(text, 'wrangler.jsonc', varNames);

describe('wrangler.jsonc', () => {
  test('[VITE1] classes, their storage, bindings, date and variables are read', () => {
    const text = `{
      // a comment, and a comma too many
      "name": "chat", "main": "src/index.ts", "compatibility_date": "2026-07-01",
      "vars": { "GREETING": "hi", "LIMITS": { "rooms": 5 } },
      "durable_objects": { "bindings": [
        { "name": "ROOM", "class_name": "Room" },
        { "name": "OLD", "class_name": "Counter", "script_name": "chat" },
        { "name": "NEW", "class_name": "Unmigrated" },
      ] },
      "migrations": [
        { "tag": "v1", "new_sqlite_classes": ["Chat", "Gone"], "new_classes": ["Counter"] },
        { "tag": "v2", "renamed_classes": [{ "from": "Chat", "to": "Room" }] },
        { "tag": "v3", "deleted_classes": ["Gone"] },
      ],
      "routes": ["ignored"],
    }`;
    expect(parse(text, ['LIMITS', 'GREETING'])).toEqual({
      scriptName: 'chat',
      main: 'src/index.ts',
      compatibilityDate: '2026-07-01',
      compatibilityFlags: [],
      nodeApis: 'none',
      vars: { GREETING: 'hi', LIMITS: { rooms: 5 } },
      otherVars: [],
      bindings: { ROOM: 'Room', OLD: 'Counter', NEW: 'Unmigrated' },
      classes: [
        { name: 'Counter', storage: 'kv' },
        { name: 'Room', storage: 'sql' },
        { name: 'Unmigrated', storage: 'sql' },
      ],
      rules: [],
      build: undefined,
      define: {},
      alias: {},
      members: {},
      services: {},
      otherServices: {},
      crons: [],
      assets: undefined,
      requiredSecrets: undefined,
      dev: {},
      missing: [],
      warnings: ['routes: these settings have no effect here.'],
    });
  });

  test('[VITE1] classes declared by exports are read; deleted ones and entry points are not', () => {
    const text = `{
      "main": "a.ts", "compatibility_flags": ["nodejs_compat"],
      "durable_objects": { "bindings": [{ "name": "ROOM", "class_name": "Room" }] },
      "exports": {
        "Room": { "type": "durable-object", "storage": "legacy-kv" },
        "Unbound": { "type": "durable-object", "storage": "sqlite" },
        "Gone": { "type": "durable-object", "state": "deleted" },
        "Admin": { "type": "worker" },
      },
    }`;
    expect(parse(text)).toMatchObject({
      classes: [
        { name: 'Room', storage: 'kv' },
        { name: 'Unbound', storage: 'sql' },
      ],
      compatibilityFlags: ['nodejs_compat'],
    });
  });

  test('[VITE13] rules for files are read, and a type that does not exist is refused by name', () => {
    const rules = (type: string) =>
      `{ "main": "a.ts", "rules": [{ "type": "${type}", "globs": ["**/*.md"] }] }`;
    expect(parse(rules('Text')).rules).toEqual([{ type: 'Text', globs: ['**/*.md'] }]);
    expect(parse(rules('ESModule')).rules).toEqual([]);
    expect(() => parse(rules('PythonModule'))).toThrow(
      /^wrangler\.jsonc:1:\d+: rules\.0\.type:.*PythonModule/,
    );
  });

  test('[VITE2] a main module that is missing is named, with the way out', () => {
    expect(() => mainOf(parse('{}'), 'wrangler.jsonc', 'make one.')).toThrow(
      /^wrangler\.jsonc: "main" is missing; .*make one\.$/,
    );
  });

  test('[VITE13] a rule without fallthrough is the last of its type', () => {
    const rule = { type: 'Text' as const, globs: ['**/*.md'] };
    const last = kindsBy([rule], '/project');
    expect(['/a/b.md', '/a/b.txt', '/a/b.bin'].map(last)).toEqual(['Text', undefined, 'Data']);
    const falling = kindsBy([{ ...rule, fallthrough: true }], '/project');
    expect(['/a/b.md', '/a/b.txt'].map(falling)).toEqual(['Text', 'Text']);
    const placed = kindsBy([{ type: 'Data', globs: ['keys/*.pem'] }], '/project');
    expect(['/project/keys/a.pem', '/other/keys/a.pem'].map(placed)).toEqual(['Data', undefined]);
    const several = kindsBy([{ type: 'Data', globs: ['**/*.{pem,key}', 'a?.x', 'b.(c)'] }], '/p');
    const paths = [
      '/p/d.pem',
      'lib/d.key',
      '/p/ab.x',
      '/p/a/.x',
      '/p/b.(c)',
      '/p/d.pemx',
      '/p/bx(c)',
    ];
    expect(paths.filter((path) => several(path) === 'Data')).toEqual([
      ...['/p/d.pem', 'lib/d.key', '/p/ab.x', '/p/b.(c)'],
    ]);
  });

  test('[VITE9] members of env that do not exist are found in any section except variables', () => {
    const config = parse(`{
      "main": "a.ts",
      "vars": { "RULES": { "binding": "not one" } },
      "env": { "staging": { "d1_databases": [{ "binding": "NOT_THIS_ONE" }] } },
      "kv_namespaces": [{ "binding": "CACHE", "id": "1" }, { "binding": "USERS", "id": "2" }],
      "queues": { "producers": [{ "queue": "mail", "binding": "MAIL" }], "consumers": [{ "queue": "mail" }] },
      "services": [{ "binding": "AUTH", "service": "other" }],
      "assets": { "directory": "public", "binding": "ASSETS" },
      "define": { "binding": "not one" },
      "ai": { "binding": "AI" },
      "site": { "bucket": "public" },
      "logfwdr": { "bindings": [{ "name": "LOGS", "destination": "x" }] },
      "text_blobs": { "TEXT": "a.txt" }, "data_blobs": { "DATA": "a.bin" }, "wasm_modules": { "WASM": "a.wasm" }
    }`);
    expect(config.missing).toEqual([
      { name: 'AI', section: 'ai' },
      { name: '__STATIC_CONTENT', section: 'site' },
      { name: 'LOGS', section: 'logfwdr' },
      { name: 'TEXT', section: 'text_blobs' },
      { name: 'DATA', section: 'data_blobs' },
      { name: 'WASM', section: 'wasm_modules' },
      { name: 'AUTH', section: 'services' },
      { name: 'ASSETS', section: 'assets' },
    ]);
  });

  test('[VITE23] products, services of the worker itself and crons are read', () => {
    const config = parse(`{
      "name": "shop", "main": "a.ts",
      "kv_namespaces": [{ "binding": "CACHE", "id": "1" }, { "binding": "NEW" }],
      "d1_databases": [{ "binding": "DB", "database_name": "d", "database_id": "2", "migrations_dir": "sql" }],
      "r2_buckets": [{ "binding": "FILES", "bucket_name": "files" }],
      "queues": {
        "producers": [{ "queue": "mail", "binding": "MAIL", "delivery_delay": 5 }],
        "consumers": [
          { "queue": "mail", "max_batch_size": 10, "max_concurrency": null, "dead_letter_queue": "dead" },
          { "queue": "dead" },
        ],
      },
      "ratelimits": [{ "name": "LIMITER", "namespace_id": "7", "simple": { "limit": 9, "period": 60 } }],
      "services": [{ "binding": "SELF", "service": "shop", "entrypoint": "Admin" }],
      "triggers": { "crons": ["* * * * *"] },
    }`);
    expect(config.members).toEqual({
      CACHE: { make: 'kv', options: { id: '1' } },
      NEW: { make: 'kv', options: {} },
      DB: { make: 'd1', options: { id: '2' }, migrations: { folder: 'sql', pattern: '*.sql' } },
      FILES: { make: 'r2', options: { id: 'files' } },
      MAIL: {
        make: 'queue',
        options: {
          name: 'mail',
          deliveryDelay: 5,
          consumer: { maxBatchSize: 10, deadLetterQueue: 'dead' },
        },
      },
      dead: { make: 'queue', options: { name: 'dead', consumer: {} } },
      LIMITER: { make: 'rateLimit', options: { id: '7', limit: 9, period: 60 } },
    });
    expect(config.services).toEqual({ SELF: { service: 'shop', entrypoint: 'Admin' } });
    expect([config.crons, config.missing]).toEqual([['* * * * *'], []]);
  });

  test('[VITE24] an environment inherits what wrangler lets it inherit', () => {
    const text = `{
      "name": "shop", "main": "a.ts", "compatibility_date": "2026-07-01",
      "vars": { "A": "top" }, "kv_namespaces": [{ "binding": "CACHE" }], "triggers": { "crons": ["* * * * *"] },
      "env": { "live": { "vars": { "A": "live" } }, "own": { "name": "mine", "main": "b.ts" } }
    }`;
    const live = parseWranglerConfig(text, 'wrangler.jsonc', 'all', 'live');
    expect(live).toMatchObject({ scriptName: 'shop-live', main: 'a.ts', vars: { A: 'live' } });
    expect([live.members, live.crons, live.compatibilityDate]).toEqual([
      {},
      ['* * * * *'],
      '2026-07-01',
    ]);
    const own = parseWranglerConfig(text, 'wrangler.jsonc', 'all', 'own');
    expect(own).toMatchObject({ scriptName: 'mine', main: 'b.ts', vars: {} });
    expect(() => parseWranglerConfig(text, 'wrangler.jsonc', [], 'dev')).toThrow(
      'there is no environment "dev"; there are: live, own.',
    );
  });

  test('[VITE24] if the file has no environments, a named environment is the top of the file, with a warning', () => {
    const text = '{ "name": "shop", "vars": { "A": "top" } }';
    const config = parseWranglerConfig(text, 'wrangler.jsonc', 'all', 'live');
    expect(config).toMatchObject({ scriptName: 'shop-live', vars: { A: 'top' } });
    expect(config.warnings).toEqual([
      'there is no environment "live", so the top of the file is used.',
    ]);
  });

  test('[VITE27] settings without an effect are named: unread ones, those not inherited, and those of the whole file in an environment', () => {
    const text = `{
      "$schema": "x", "name": "shop", "main": "a.ts", "mian": "b.ts",
      "migrations": [{ "tag": "v1", "new_sqlite_classes": ["A"], "transferred_classes": [] }],
      "kv_namespaces": [{ "binding": "A", "remote": true }, { "binding": "B", "remote": false }],
      "ai": { "binding": "AI", "staging": true }, "previews": { "ai": { "binding": "OTHER" } },
      "rules": [{ "type": "ESModule", "globs": [] }, { "type": "Text", "globs": [] }],
      "define": { "A": "1" }, "observability": { "enabled": true },
      "env": { "live": { "alias": { "a": "b" }, "vars": { "remote": true }, "kv_namespaces": [] } }
    }`;
    const warnings = (...rest: [environment?: string, unused?: string[]]) =>
      parseWranglerConfig(text, 'wrangler.jsonc', 'all', ...rest).warnings;
    const unread =
      'mian, migrations.transferred_classes, observability, previews, rules of the type ESModule';
    const no = 'these settings have no effect here.';
    expect(warnings()).toEqual([`kv_namespaces.remote, ${unread}: ${no}`]);
    const unused = warnings(undefined, ['define', 'kv_namespaces.binding', 'assets']);
    expect(unused[0]).toMatch(/^define, kv_namespaces\.binding, kv_namespaces\.remote, /);
    expect(warnings('live')).toEqual([
      'ai, define: the environment "live" does not inherit these settings from the top of the file; repeat them in it.',
      'env.live.alias: these settings have an effect at the top of the file only.',
      `${unread}: ${no}`,
    ]);
    expect(parseWranglerConfig(text, 'wrangler.jsonc', 'all', 'live').alias).toEqual({});
  });

  test('[VITE28] migrations of a D1 database are in the folder, by the pattern, and in the table of its entry; preview ids come first', () => {
    const database = (fields: object) =>
      parse(JSON.stringify({ d1_databases: [{ binding: 'DB', database_id: '1', ...fields }] }))
        .members.DB;
    const at = (folder: string, pattern: string) => ({ migrations: { folder, pattern } });
    expect(database({})).toMatchObject(at('migrations', '*.sql'));
    expect(database({ migrations_dir: './sql/' })).toMatchObject(at('sql', '*.sql'));
    expect(database({ migrations_dir: '/abs/sql' })).toMatchObject(at('/abs/sql', '*.sql'));
    const drizzle = { migrations_dir: 'drizzle', migrations_pattern: './drizzle/*/migration.sql' };
    expect(database(drizzle)).toMatchObject(at('drizzle', '*/migration.sql'));
    const here = { migrations_dir: '.', migrations_pattern: 'a/*.sql' };
    expect(database(here)).toMatchObject(at('.', 'a/*.sql'));
    expect(database({ migrations_table: 'mine', preview_database_id: '2' })).toMatchObject({
      options: { id: '2', migrationsTable: 'mine' },
    });
    const wrong: [object, RegExp][] = [
      [
        { migrations_pattern: 'a/*.sql' },
        /:1:\d+: d1_databases\.0\.migrations_pattern: .*migrations_dir/,
      ],
      [
        { migrations_dir: 'a', migrations_pattern: 'b/*.sql' },
        /"b\/\*\.sql" must begin with .*"a\/"/,
      ],
      [
        { migrations_dir: 'a', migrations_pattern: 'a/[[:digit:]],*' },
        /"\[\[:digit:\]\],\*" is not a pattern: /,
      ],
    ];
    for (const [fields, message] of wrong) expect(() => database(fields)).toThrow(message);
  });

  test('[VITE24] TOML gives the same settings as JSON, and a mistake in it is reported with its place', () => {
    const toml = `name = "shop"\nmain = "a.ts"\n[[kv_namespaces]]\nbinding = "CACHE"\nid = "1"\n`;
    const json =
      '{ "name": "shop", "main": "a.ts", "kv_namespaces": [{ "binding": "CACHE", "id": "1" }] }';
    expect(parseWranglerConfig(toml, 'wrangler.toml')).toEqual(parse(json));
    expect(() => parseWranglerConfig('name = "shop"\nmain = = 1\n', 'wrangler.toml')).toThrow(
      /^wrangler\.toml:2:\d+: not TOML: /,
    );
    expect(() => parseWranglerConfig('main = 1\n', 'wrangler.toml')).toThrow(
      /^wrangler\.toml: main: /,
    );
  });

  test('[VITE2] the error of a wrong setting has its name, file and place', () => {
    const main = '"main": "a.ts"';
    const wrong: [string, RegExp][] = [
      ['{\n  "main": oops\n}', /^wrangler\.jsonc:2:11: not JSON/],
      ['', /^wrangler\.jsonc:1:1: not JSON/],
      ['[]', /must contain a JSON object/],
      ['{"main": 5}', /:1:10: main: .*Expected string but received 5\.$/],
      [
        `{${main},\n"durable_objects": {"bindings": [{"name": "A"}]}}`,
        /:2:34: durable_objects\.bindings\.0\.class_name: /,
      ],
      [
        `{${main}, "name": "mine", "durable_objects": {"bindings": [\n{"name": "A", "class_name": "B", "script_name": "other"}]}}`,
        /:2:49: binding A names a class of another script, "other"/,
      ],
      [
        `{${main},\n"migrations": [{"new_sqlite_classes": "Room"}]}`,
        /:2:39: migrations\.0\.new_sqlite_classes: .*Expected Array/,
      ],
      [`{${main}, "migrations": {}}`, /migrations: .*Expected Array but received Object/],
      [`{${main}, "migrations": [5]}`, /migrations\.0: .*received 5/],
      [`{${main}, "vars": []}`, /vars: Expected an object/],
      [`{${main}, "durable_objects": []}`, /durable_objects: Expected an object/],
      [`{${main}, "queues": []}`, /queues: Expected an object/],
      [`{${main}, "triggers": ["* * * * *"]}`, /triggers: Expected an object/],
    ];
    for (const [text, message] of wrong) expect(() => parse(text)).toThrow(message);
  });

  test('[VITE26] two members of env with one name, and a date that does not exist, are named with their place', () => {
    const main = '"main": "a.ts"';
    const room = '{ "name": "ROOM", "class_name": "Room" }';
    const cache = '{ "binding": "CACHE", "id": "1" }';
    const wrong: [string, RegExp][] = [
      [
        `{${main},\n"kv_namespaces": [${cache},\n${cache}]}`,
        /:3:14: kv_namespaces\.1\.binding gives env\.CACHE, as kv_namespaces\.0\.binding does/,
      ],
      [
        `{${main}, "durable_objects": { "bindings": [${room}] }, "vars": { "ROOM": "a" } }`,
        /gives env\.ROOM, as .*; give one of them another name\.$/,
      ],
      [
        `{${main}, "kv_namespaces": [${cache}], "ratelimits": [{ "name": "CACHE", "simple": { "limit": 1, "period": 60 } }] }`,
        /env\.CACHE/,
      ],
      [`{${main}, "ai": { "binding": "CACHE" }, "kv_namespaces": [${cache}] }`, /env\.CACHE/],
      [`{${main}, "text_blobs": { "CACHE": "a" }, "kv_namespaces": [${cache}] }`, /env\.CACHE/],
      [
        `{\n"compatibility_date": "1.7.2026"}`,
        /:2:23: compatibility_date: Expected a date such as 2026-07-01 but received "1\.7\.2026"\.$/,
      ],
      ['{ "compatibility_date": "2026-02-30" }', /received "2026-02-30"/],
      ['{ "compatibility_date": "2026-13-01" }', /received "2026-13-01"/],
    ];
    for (const [text, message] of wrong) expect(() => parse(text)).toThrow(message);
    const variable = `{${main}, "vars": { "Room": "a" }, "durable_objects": { "bindings": [${room}] } }`;
    expect(parse(variable, ['Room']).vars).toEqual({ Room: 'a' });
  });
});
