// Decorators, which Vite leaves to browsers that do not have them.

import { createServer } from 'vite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TestProject } from './testing/test-project.ts';

let project: TestProject;
beforeEach(() => {
  project = new TestProject();
});
afterEach(() => project.remove());

test('[VITE14] standard decorators are compiled, in development and built', async () => {
  const decorated = `const callable = () => (method, context) => function () {
      return [context?.kind, method.call?.(this)];
    };
    export class Notes { @callable() hi() { return 5; } }`;
  project.write('src/index.ts', `// @ts-nocheck\n${decorated}`);
  project.write('src/plain.js', decorated);
  const server = await createServer(project.config());
  for (const path of ['/src/index.ts', '/src/plain.js']) {
    const { Notes } = (await server.ssrLoadModule(path)) as {
      Notes: new () => { hi(): unknown };
    };
    expect([path, new Notes().hi()]).toEqual([path, ['method', 5]]);
  }
  await server.close();
  const { Notes } = await project.buildMain();
  expect(new (Notes as unknown as new () => { hi(): unknown })().hi()).toEqual(['method', 5]);
});
