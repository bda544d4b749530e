// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references in files of variables look like templates.

// The secrets of local runs. The expected values are those that Wrangler 4.164 gives for the same files.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { environmentOf, processVariables, type SecretRules, secretsIn } from './dev-vars.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ctx-storage-vars-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
  vi.unstubAllEnvs();
});

function write(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
}

const RULES: SecretRules = {
  requiredSecrets: undefined,
  vars: {},
  bindings: {},
  members: {},
  services: {},
  otherServices: {},
  missing: [],
};

const secrets = (
  rules: Partial<SecretRules> = {},
  environment?: string,
  process: Record<string, string> = {},
) => secretsIn({ folder, environment, process }, { ...RULES, ...rules });

const DOT_ENV = {
  '.env': 'A=env\nB=env\nC=$A-${D:-d}\n',
  '.env.local': 'B=local\n',
  '.env.live': 'B=live\nE=live\n',
  '.env.live.local': 'E=both\n',
};

test('[DEV38] without .dev.vars, the files .env are read; local files and those of the environment override the others', () => {
  write(DOT_ENV);
  expect(secrets().secrets).toEqual({ A: 'env', B: 'local', C: 'env-d' });
  const live = { A: 'env', B: 'live', C: 'env-d', E: 'both' };
  expect(secrets({}, 'live').secrets).toEqual(live);
});

test('[DEV38] .dev.vars is read in place of .env, and that of the environment in place of both', () => {
  write({ ...DOT_ENV, '.dev.vars': 'D=$A' });
  expect(secrets().secrets).toEqual({ D: '$A' });
  expect(secrets({}, 'live').secrets).toEqual({ D: '$A' });
  write({ '.dev.vars.live': 'F=1' });
  expect(secrets({}, 'live').secrets).toEqual({ F: '1' });
  expect(secrets().secrets).toEqual({ D: '$A' });
});

test('[DEV38] a folder .env, as Python makes it, is ignored; a folder .dev.vars is an error', () => {
  mkdirSync(join(folder, '.env'));
  write({ '.env.local': 'A=1' });
  expect(secrets().secrets).toEqual({ A: '1' });
  mkdirSync(join(folder, '.dev.vars'));
  expect(() => secrets()).toThrow('EISDIR');
});

test('[DEV38] secrets.required keeps the secrets that it names and the variables of the file, also from the process; missing ones are named', () => {
  write({ '.env': 'KEY=k\nOTHER=o\nV=1\n' });
  const rules = { requiredSecrets: ['KEY', 'FROM_PROCESS', 'MISSING'], vars: { V: 'x' } };
  const read = secrets(rules, undefined, { FROM_PROCESS: 'p', PATH: '/bin' });
  expect(read.secrets).toEqual({ KEY: 'k', FROM_PROCESS: 'p', V: '1' });
  expect(read.warnings).toEqual([expect.stringMatching(/^MISSING: secrets\.required names/)]);
  expect(secrets({ requiredSecrets: [], vars: { V: 'x' } }).secrets).toEqual({ V: '1' });
  write({ '.dev.vars': 'KEY=dev\nOTHER=o' });
  const dev = secrets({ requiredSecrets: ['KEY', 'FROM_PROCESS'] }, undefined, {
    FROM_PROCESS: 'p',
  });
  expect(dev.secrets).toEqual({ KEY: 'dev' });
  expect(dev.warnings).toEqual([expect.stringMatching(/^FROM_PROCESS: /)]);
});

test('[DEV38] wrangler’s variables of the process turn .env off, and add the variables of the process', () => {
  write(DOT_ENV);
  const off = { CLOUDFLARE_LOAD_DEV_VARS_FROM_DOT_ENV: 'FALSE' };
  expect(secrets({}, undefined, off).secrets).toEqual({});
  const all = { CLOUDFLARE_INCLUDE_PROCESS_ENV: 'true', A: 'process', HOME: '/root' };
  expect(secrets({}, undefined, all).secrets).toMatchObject({
    A: 'process',
    B: 'local',
    C: 'process-d',
    HOME: '/root',
  });
  const wrong = { CLOUDFLARE_INCLUDE_PROCESS_ENV: 'yes' };
  expect(() => secrets({}, undefined, wrong)).toThrow(
    'CLOUDFLARE_INCLUDE_PROCESS_ENV is "yes"; it must be "true" or "false".',
  );
});

test('[DEV38] a binding hides a secret of its name, with a warning', () => {
  write({ '.env': 'ROOM=1\nDB=2\nSELF=3\nAI=4\nTOKEN=5' });
  const { secrets: read, warnings } = secrets({
    bindings: { ROOM: 'Room' },
    members: { DB: { make: 'd1', options: {} } },
    services: { SELF: { service: 'w' } },
    missing: [{ name: 'AI', section: 'ai' }],
  });
  expect(read).toEqual({ TOKEN: '5' });
  expect(warnings).toEqual([expect.stringMatching(/^ROOM, DB, SELF, AI: /)]);
});

test('[DEV38] CLOUDFLARE_ENV, of the process or of .env, chooses the environment, unless one is named; its own files are named as unread', () => {
  vi.stubEnv('CLOUDFLARE_ENV', undefined);
  expect(environmentOf(undefined, processVariables(folder, undefined))).toBe(undefined);
  write({ '.env': 'CLOUDFLARE_ENV=of-file' });
  expect(environmentOf(undefined, processVariables(folder, undefined))).toBe('of-file');
  vi.stubEnv('CLOUDFLARE_ENV', 'live');
  const process = processVariables(folder, undefined);
  expect(environmentOf(undefined, process)).toBe('live');
  expect(environmentOf('named', process)).toBe('named');
  expect(environmentOf('', process)).toBe(undefined);
  write({ '.dev.vars.live': 'A=1', '.dev.vars': 'A=2' });
  const read = secretsIn({ folder, environment: undefined, process }, RULES);
  expect(read.secrets).toEqual({ A: '2' });
  expect(read.warnings).toEqual([expect.stringMatching(/^\.dev\.vars\.live: not read/)]);
});
