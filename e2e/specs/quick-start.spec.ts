// The quick starts of the guide, as a newcomer has them: a stock template, the packed package, one pasted file.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserContext, Page } from '@playwright/test';
import { expect, test } from '../browsers/fixtures.ts';
import { REPOSITORY } from '../browsers/server.ts';
import { LONG, ONCE, RELEASE } from '../browsers/tags.ts';
import { manifestIn, runScript } from '../package/copied-example.ts';
import { whileServed } from '../package/installed.ts';
import { QUICK_START, quickStarts, startInNode, startInTemplate } from '../package/quick-starts.ts';

/** The template of each start in a browser. */
const TEMPLATES: Readonly<Record<string, string>> = {
  TypeScript: 'vanilla-ts',
  React: 'react-ts',
  Vue: 'vue-ts',
  Svelte: 'svelte-ts',
};

// npm installs a template's packages.
test.describe.configure({ timeout: 600_000 });

let parent: string;
test.beforeAll(() => {
  parent = mkdtempSync(join(tmpdir(), 'ctx-storage-starts-'));
});
test.afterAll(() => rmSync(parent, { recursive: true, force: true }));

test('[DOC7] every block of the quick start is a start that is tested, with the named templates', {
  tag: ONCE,
}, () => {
  const titles = quickStarts().map(({ title }) => title);
  expect(titles).toEqual([...Object.keys(TEMPLATES), 'Node']);
  const [major] = manifestIn(REPOSITORY).devDependencies['create-vite']!.split('.');
  expect(QUICK_START).toContain(`npm create vite@${major} my-app -- --template`);
  for (const template of Object.values(TEMPLATES)) expect(QUICK_START).toContain(template);
});

for (const [title, template] of Object.entries(TEMPLATES)) {
  test(`[DOC7] the quick start of ${title} is built by its stock template, and works`, {
    tag: [LONG, ONCE, RELEASE],
  }, async ({ context }) => {
    const folder = await startInTemplate(parent, template, startOf(title));
    runScript(folder, 'build');
    // The template of Svelte checks types apart from its build.
    if ('check' in manifestIn(folder).scripts) runScript(folder, 'check');
    const built = join(folder, 'dist');
    await whileServed(built, async (address) => {
      const [one, other] = [await open(context, address), await open(context, address)];
      await add(one);
      for (const page of [one, other]) await expect.poll(() => hellosOn(page)).toBe(1);
      await add(other);
      for (const page of [one, other]) await expect.poll(() => hellosOn(page)).toBe(2);
      await one.reload();
      await expect.poll(() => hellosOn(one)).toBe(2);
      if (title === 'TypeScript') {
        await other.getByRole('button', { name: 'Undo' }).click();
        for (const page of [one, other]) await expect.poll(() => hellosOn(page)).toBe(1);
      }
      await expect(one.getByRole('alert')).toHaveCount(0);
    });
    const withoutSqlite = (path: string) => !path.endsWith('.wasm');
    await whileServed(
      built,
      async (address) => {
        const page = await open(context, address);
        await expect(page.locator('body')).toContainText('.wasm');
      },
      withoutSqlite,
    );
  });
}

test('[DOC7] the quick start of Node runs in a new folder, and goes on in the next run', {
  tag: [LONG, ONCE],
}, async () => {
  const start = startOf('Node');
  const folder = await startInNode(parent, start);
  expect(QUICK_START).toContain(`node ${start.file}`);
  // The test runner asks for colours.
  const env = { ...process.env, FORCE_COLOR: '0' };
  const run = () =>
    spawnSync(process.execPath, [start.file], { cwd: folder, env, encoding: 'utf8' });
  expect(run()).toMatchObject({ stderr: '', stdout: "[ { id: 1, body: 'hello' } ]\n", status: 0 });
  expect(run().stdout).toContain("{ id: 2, body: 'hello' }");
});

function startOf(title: string) {
  return quickStarts().find((start) => start.title === title)!;
}

async function open(context: BrowserContext, address: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(address);
  return page;
}

async function add(page: Page): Promise<void> {
  const button = page.getByRole('button', { name: 'Add' });
  await expect(button).toBeEnabled();
  await button.click();
}

async function hellosOn(page: Page): Promise<number> {
  const text = await page.locator('body').innerText();
  return text.match(/hello/g)?.length ?? 0;
}
