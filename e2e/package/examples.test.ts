// The manifests of the examples: a reader installs the versions that the tests have run.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { REPOSITORY } from '../browsers/server.ts';
import { EXAMPLES, exampleNames, manifestOf } from './copied-example.ts';
import { EMULATOR, manifestOf as publishedManifestOf } from './entry-modules.ts';

const { version, devDependencies } = JSON.parse(
  readFileSync(join(REPOSITORY, 'package.json'), 'utf8'),
);
const emulator = publishedManifestOf(EMULATOR);
const tested: Readonly<Record<string, string>> = {
  'ctx-storage': version,
  [emulator.name]: emulator.version,
  ...devDependencies,
};

test.each(exampleNames())(
  '[DOC5] %s depends on the versions that this repository is tested with',
  (name) => {
    const { dependencies, devDependencies: tools } = manifestOf(name);
    const wanted = { ...dependencies, ...tools };
    expect(dependencies['ctx-storage']).toBeDefined();
    expect(wanted).toEqual(
      Object.fromEntries(Object.keys(wanted).map((each) => [each, tested[each]])),
    );
  },
);

/** The files for accounts, which `todo` has in a folder of its own. */
test.each(['account.ts', 'sessions.ts', 'user.ts'])(
  '[APP9] todo and chat have the same %s, which one test of both shows',
  (file) => {
    const [todo, chat] = [`todo/src/follow/${file}`, `chat/src/${file}`].map((path) =>
      readFileSync(join(EXAMPLES, path), 'utf8'),
    );
    expect(todo).toBe(chat);
  },
);
