import { describe, expect, test } from 'vitest';
import { parseWranglerConfig } from './wrangler-config.ts';

const parse = (text: string) => parseWranglerConfig(text, 'wrangler.jsonc');

describe('wrangler.jsonc', () => {
  test('[VITE1] classes, their storage, bindings, date and variables are read', () => {
    const config = parse(`{
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
    }`);
    expect(config).toEqual({
      scriptName: 'chat',
      main: 'src/index.ts',
      compatibilityDate: '2026-07-01',
      vars: { GREETING: 'hi', LIMITS: { rooms: 5 } },
      bindings: { ROOM: 'Room', OLD: 'Counter', NEW: 'Unmigrated' },
      classes: [
        { name: 'Counter', storage: 'kv' },
        { name: 'Room', storage: 'sql' },
        { name: 'Unmigrated', storage: 'sql' },
      ],
    });
  });

  test('[VITE2] what cannot be used is named, with file and place', () => {
    const main = '"main": "a.ts"';
    const wrong: [string, RegExp][] = [
      ['{\n  "main": oops\n}', /^wrangler\.jsonc:2:11: not JSON/],
      ['[]', /holds no object/],
      ['{}', /"main" is missing/],
      [
        `{${main}, "durable_objects": {"bindings": [{"name": "A"}]}}`,
        /"class_name", not \{"name":"A"\}/,
      ],
      [
        `{${main}, "name": "mine", "durable_objects": {"bindings": [{"name": "A", "class_name": "B", "script_name": "other"}]}}`,
        /binding A is a class of another script, "other"/,
      ],
    ];
    for (const [text, message] of wrong) expect(() => parse(text)).toThrow(message);
  });
});
