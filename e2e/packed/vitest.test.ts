// `ctx-storage/vitest` of the packed package: a project's tests of its Worker, run by Vitest.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { VitestProject } from './vitest-project.ts';
import { TESTS } from './vitest-suite.ts';

let project: VitestProject;

beforeEach(async () => {
  project = await VitestProject.make();
});
afterEach(() => project.remove());

test('[VT1] [VT2] [VT3] a suite that imports cloudflare:test passes; each file has storage of its own', () => {
  for (const [path, text] of Object.entries(TESTS)) project.write(path, text);
  const { passed, failed, output } = project.run();
  expect(failed, output).toEqual([]);
  expect(passed.length, output).toBe(Object.values(TESTS).join('\n').match(/^it\(/gm)?.length);
});

test('[VT5] a wrong file, a class that is not exported, and a suite without the plugin are told', () => {
  project.write(
    'test/a.test.ts',
    "import 'cloudflare:test';\nimport { it } from 'vitest';\nit('runs', () => {});",
  );
  project.configure("{ wrangler: { configPath: 'nothing.jsonc' } }");
  expect(project.run().output).toContain('"nothing.jsonc", which does not exist');
  project.configure('');
  project.write('src/index.ts', 'export default {};');
  expect(project.run().output).toContain(
    'names class Room, and the main module exports nothing of that name',
  );
  project.write(
    'vitest.config.ts',
    "export default { resolve: { alias: { 'cloudflare:test': 'ctx-storage/cloudflare-test' } } };",
  );
  project.write(
    'test/a.test.ts',
    "import { SELF } from 'cloudflare:test';\nimport { it } from 'vitest';\nit('runs', async () => { await SELF.fetch('http://x/'); });",
  );
  expect(project.run().failed.join()).toContain(
    'does not run: it starts before the test file is imported',
  );
});
