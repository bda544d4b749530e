// `npx ctx-storage dev` of the packed package beside a page: its inspector, and a page of the same project.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'vite';
import { WebSocket } from 'ws';
import type * as Plugin from '../../packages/vite/plugin.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG, ONCE, RELEASE } from '../browsers/tags.ts';
import { whileServed } from '../package/installed.ts';
import { CODE, DevProject, textOf } from '../packed/dev-project.ts';

let project: DevProject;

test.beforeEach(async () => {
  project = await DevProject.make();
});
test.afterEach(() => project.remove());

test('[DEV8] the inspector shows and changes the objects of the server, before and after new code; no other site can', {
  tag: [LONG, ONCE],
}, async ({ context }) => {
  const { address } = await project.start();
  await textOf(`${address}/all`);
  expect(await textOf(`${address}/room`)).toBe('visit 1');
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  await page.goto(`${address}/__ctx-storage`);
  await page.getByLabel('Class').selectOption('KvObject');
  await expect(page.getByRole('button', { name: 'abc' })).toBeVisible();
  await page.getByLabel('Class').selectOption('Room');
  await page.getByRole('button', { name: 'a', exact: true }).click();
  await page.getByRole('tab', { name: 'Keys' }).click();
  const count = page.getByRole('button', { name: /^count/ });
  await expect(count).toContainText('1');
  expect(await textOf(`${address}/room`)).toBe('visit 2');
  await expect(count).toContainText('2');
  project.write('src/index.ts', CODE.replace("'visit '", "'call '"));
  await expect.poll(() => textOf(`${address}/room`)).toMatch(/^call \d/);
  const written = Number(/\d+/.exec(await textOf(`${address}/room`))![0]);
  await expect(count).toContainText(`${written}`);
  await page.getByRole('tab', { name: 'SQL' }).click();
  await page.getByRole('textbox', { name: 'SQL' }).fill('CREATE TABLE made(x)');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByRole('tab', { name: 'Tables' }).click();
  await expect(page.getByRole('button', { name: /^made/ })).toBeVisible();
  expect(problems).toEqual([]);
  // A page of another site asks.
  const foreign = new WebSocket(`${address.replace('http', 'ws')}/__ctx-storage`, {
    origin: 'http://stranger.example',
  });
  const refused = new Promise<Error>((resolve) => foreign.once('error', resolve));
  expect(String(await refused)).toContain('Unexpected server response: 403');
  expect(
    (await fetch(`${address}/__ctx-storage/..%2Fpackage.json`)).headers.get('content-type'),
  ).toMatch(/^application\/json/);
});

test('[VITE23] a page of the same project has its products, too', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ context }) => {
  project.write('index.html', '<script type="module" src="./main.js"></script>');
  project.write(
    'main.js',
    `import { connect } from 'ctx-storage';
    import start from 'virtual:ctx-storage/start';
    const { worker } = await connect(start);
    const answer = await worker.fetch('/all');
    document.title = await answer.text();`,
  );
  const plugin = join(project.folder, 'node_modules/ctx-storage/dist/vite.js');
  const { ctxStorage } = (await import(pathToFileURL(plugin).href)) as typeof Plugin;
  await build({
    configFile: false,
    root: project.folder,
    logLevel: 'error',
    plugins: [ctxStorage()],
    build: { outDir: 'built', target: 'esnext' },
  });
  await whileServed(join(project.folder, 'built'), async (address) => {
    const page = await context.newPage();
    await page.goto(address);
    await expect(page).toHaveTitle('["kv",1,"r2",true,false,"admin of x"]');
  });
});
