// `npx ctx-storage dev` of the packed package: the first things that a project's author does.

import { get } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { CODE, CONFIG, DevProject, textOf } from './dev-project.ts';

let project: DevProject;

beforeEach(async () => {
  project = await DevProject.make();
});
afterEach(() => project.remove());

test('[DEV1] [DEV2] a project runs by its wrangler file; its data outlive the process', async () => {
  project.write('.dev.vars', 'TOKEN="a secret"\n');
  const { address, child } = await project.start();
  expect(await textOf(`${address}/all`)).toBe('["kv",1,"r2",true,false,"admin of x"]');
  expect(await textOf(`${address}/vars`)).toBe('["hello","a secret",null]');
  const echoed = await fetch(`${address}/echo`, { method: 'POST', body: 'Grüße' });
  expect([await echoed.text(), echoed.headers.getSetCookie()]).toEqual(['Grüße', ['a=1']]);
  expect(await textOf(`${address}/room`)).toBe('visit 1');
  const cron = encodeURIComponent('*/5 * * * *');
  expect(await textOf(`${address}/cdn-cgi/handler/scheduled?cron=${cron}`)).toBe('ok');
  await expect.poll(() => textOf(`${address}/keys`)).toBe('["a","cron */5 * * * *","queued job"]');
  const foreign = await new Promise<number | undefined>((resolve) => {
    get(address, { headers: { host: 'stranger.example' } }, ({ statusCode }) =>
      resolve(statusCode),
    );
  });
  expect(foreign).toBe(403);
  await project.end(child);
  const { address: later } = await project.start();
  expect(await textOf(`${later}/room`)).toBe('visit 2');
  expect(await textOf(`${later}/all`)).toContain('["kv",2,');
});

test('[DEV3] changed code runs on the same data; a mistake is told with its place, until it is mended', async () => {
  const { address, output } = await project.start();
  expect(await textOf(`${address}/room`)).toBe('visit 1');
  const thrown = await fetch(`${address}/throw`);
  expect([thrown.status, await thrown.text()]).toEqual([
    500,
    expect.stringMatching(/thrown by the project\n.*src\/index\.ts:27:/),
  ]);
  project.write('src/index.ts', CODE.replace("'visit '", "'call '"));
  await expect.poll(() => textOf(`${address}/room`)).toMatch(/^call (?!1$)\d+$/);
  project.write('src/index.ts', CODE.replace('default {', 'default {{'));
  await expect
    .poll(() => textOf(`${address}/room`))
    .toMatch(/^src\/index\.ts:\d+:\d+: Expected identifier/);
  project.write('src/index.ts', `import { connect } from 'cloudflare:sockets';connect();${CODE}`);
  await expect
    .poll(() => textOf(`${address}/room`))
    .toMatch(/^src\/index\.ts:1:\d+: cloudflare:sockets does not exist here/);
  project.write(
    'src/index.ts',
    `throw new Error('at import', { cause: new Error('inner') });${CODE}`,
  );
  const place = String.raw`\n +at .*src/index\.ts:1:\d+\)`;
  const printed = new RegExp(`Error: at import${place}\nCaused by: Error: inner${place}\n$`);
  await expect.poll(output).toMatch(printed);
  expect(await textOf(`${address}/room`)).toContain('at import');
  project.write('src/index.ts', `throw 'a text';${CODE}`);
  await expect.poll(output).toContain("The code threw 'a text' while it was loaded.");
  project.write('src/index.ts', CODE);
  await expect.poll(() => textOf(`${address}/room`)).toMatch(/^visit \d+$/);
});

test('[DEV4] WebSockets reach the objects, and are closed from both sides', async () => {
  const { address } = await project.start();
  const socket = new WebSocket(`${address.replace('http', 'ws')}/room`);
  const heard: string[] = [];
  socket.on('message', (data) => heard.push(String(data)));
  await new Promise((resolve) => socket.once('open', resolve));
  socket.send('one');
  socket.send('two');
  await expect.poll(() => heard).toEqual(['echo one', 'echo two']);
  const closed = new Promise<number>((resolve) => socket.once('close', resolve));
  socket.close(3000, 'bye');
  expect(await closed).toBe(3000);
  const refused = new WebSocket(`${address.replace('http', 'ws')}/keys`);
  const answer = new Promise<Error>((resolve) => refused.once('error', resolve));
  expect(String(await answer)).toContain('Unexpected server response: 200');
});

test('[DEV38] [DEV39] .env gives secrets and chooses the environment; settings without an effect are named; it listens on loopback', async () => {
  project.write('.env', 'TOKEN=of env\nCLOUDFLARE_ENV=staging\n');
  const { address, output } = await project.start();
  expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(await textOf(`${address}/vars`)).toBe('["hi","of env",null]');
  expect(output()).toMatch(
    /wrangler\.jsonc: durable_objects, .*: the environment "staging" does not inherit/,
  );
});

test('[DEV40] an error that ends the start is printed once', async () => {
  project.write('wrangler.jsonc', JSON.stringify({ ...CONFIG, ai: { binding: 'AI' } }));
  const ended = await project.start().catch((error: Error) => error.message);
  expect(ended).toMatch(
    /^It ended with 2: ctx-storage: dev: AI \(section ai\) does not exist here\./,
  );
  expect(String(ended).split('AI (section ai)')).toHaveLength(2);
});

test('[DEV41] a project without a main module serves its assets; folders may be absolute', async () => {
  project.write('files/index.html', 'home');
  const assets = { directory: join(project.folder, 'files') };
  project.write('wrangler.jsonc', JSON.stringify({ name: 'site', assets }));
  const { address, child } = await project.start();
  expect(await textOf(address)).toBe('home');
  expect((await fetch(`${address}/nowhere`)).status).toBe(404);
  await project.end(child);
  const migrations = { migrations_dir: join(project.folder, 'drizzle') };
  const pattern = `${migrations.migrations_dir}/*/migration.sql`;
  const database = { ...CONFIG.d1_databases[0], ...migrations, migrations_pattern: pattern };
  project.write('wrangler.jsonc', JSON.stringify({ ...CONFIG, d1_databases: [database] }));
  project.write('drizzle/1_a/migration.sql', 'CREATE TABLE item(name TEXT);');
  expect(await textOf(`${(await project.start()).address}/all`)).toContain('["kv",1,');
});
