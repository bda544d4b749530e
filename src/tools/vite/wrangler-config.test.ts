import { describe, expect, test } from 'vitest';
import { kindsBy } from './module-rules.ts';
import { parseWranglerConfig } from './wrangler-config.ts';

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
      otherBindings: [],
    });
  });

  test('[VITE13] rules for files are read, and kinds that cannot be are named', () => {
    const rules = (type: string) =>
      `{ "main": "a.ts", "rules": [{ "type": "${type}", "globs": ["**/*.md"] }] }`;
    expect(parse(rules('Text')).rules).toEqual([{ type: 'Text', globs: ['**/*.md'] }]);
    expect(parse(rules('ESModule')).rules).toEqual([]);
    expect(() => parse(rules('PythonModule'))).toThrow(
      /^wrangler\.jsonc:1:\d+: rules\.0\.type:.*PythonModule/,
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

  test('[VITE9] bindings of other products are found in any section, but in variables', () => {
    const config = parse(`{
      "main": "a.ts",
      "vars": { "RULES": { "binding": "not one" } },
      "env": { "staging": { "d1_databases": [{ "binding": "NOT_THIS_ONE" }] } },
      "kv_namespaces": [{ "binding": "CACHE", "id": "1" }, { "binding": "USERS", "id": "2" }],
      "queues": { "producers": [{ "queue": "mail", "binding": "MAIL" }], "consumers": [{ "queue": "mail" }] },
      "ai": { "binding": "AI" }
    }`);
    expect(config.otherBindings).toEqual(['CACHE', 'USERS', 'MAIL', 'AI']);
  });

  test('[VITE2] an unusable setting is named, with file and place', () => {
    const main = '"main": "a.ts"';
    const wrong: [string, RegExp][] = [
      ['{\n  "main": oops\n}', /^wrangler\.jsonc:2:11: not JSON/],
      ['', /^wrangler\.jsonc:1:1: not JSON/],
      ['[]', /must contain a JSON object/],
      ['{}', /:1:1: "main" is missing; .*config: false/],
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
    ];
    for (const [text, message] of wrong) expect(() => parse(text)).toThrow(message);
  });
});
