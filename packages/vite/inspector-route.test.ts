// The inspector's page, which the development server has beside those of the project.

import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer } from 'vite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TestProject } from './testing/test-project.ts';

let project: TestProject;
beforeEach(() => {
  project = new TestProject();
});
afterEach(() => project.remove());

test('[VITE17] in development, /__ctx-storage is the inspector on the classes of the project', async () => {
  project.install(
    'ctx-storage',
    { 'a.js': 'export function connect() {}', 'b.js': 'export function mountInspector() {}' },
    { '.': './a.js', './inspector': './b.js' },
  );
  const server = await createServer(project.config());
  const http = createHttpServer(server.middlewares).listen(0);
  const { port } = http.address() as AddressInfo;
  const page = await fetch(`http://localhost:${port}/__ctx-storage?directory=x`);
  expect(page.headers.get('content-type')).toBe('text/html');
  const [, script] = /src="([^"]+inspector)"/.exec(await page.text())!;
  const code = await (await fetch(`http://localhost:${port}${script}`)).text();
  expect(code).toContain('/.cache/ctx-storage/start.js');
  expect(code).toContain('/node_modules/ctx-storage/b.js');
  const other = await fetch(`http://localhost:${port}/__ctx-storage/other`);
  expect(await other.text()).not.toContain('virtual:ctx-storage/inspector');
  http.close();
  await server.close();
});
