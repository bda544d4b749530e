// The recipes of docs/live.md with the libraries they are for, and query builders on a page.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DRIZZLE_RESULTS } from '../../src/testing/drizzle-program.ts';
import { ON_HANDLE } from '../../src/testing/kysely-program.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { REPOSITORY } from '../browsers/server.ts';
import { LONG, ONCE } from '../browsers/tags.ts';
import { bundlePage, recipeOf } from '../package/recipes/recipes.ts';

const RECIPES = {
  'vue.ts': recipeOf('live.md', "from 'vue'"),
  'solid.ts': recipeOf('live.md', "from 'solid-js'"),
  'live.svelte': recipeOf('live.md', '$derived'),
};

const BUILDERS = join(REPOSITORY, 'e2e/package/recipes/query-builders.ts');

test('[LIVE16] the recipes compile with the types of their libraries', { tag: ONCE }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'ctx-storage-recipes-'));
  try {
    symlinkSync(join(REPOSITORY, 'node_modules'), join(folder, 'node_modules'));
    const files = ['vue.ts', 'solid.ts'] as const;
    for (const file of files) writeFileSync(join(folder, file), RECIPES[file]);
    const config = {
      extends: join(REPOSITORY, 'tsconfig.base.json'),
      compilerOptions: {
        lib: ['ESNext', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
        types: [],
        paths: { 'ctx-storage': [join(REPOSITORY, 'src/index.ts')] },
      },
      files,
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const tsc = join(REPOSITORY, 'node_modules/typescript/bin/tsc');
    execFileSync(process.execPath, [tsc, '-p', folder], { stdio: 'pipe', encoding: 'utf8' });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('[LIVE16] the recipes of the guide show each change, other reads and errors, and end', async ({
  storagePage: page,
}) => {
  const content = await bundlePage(join(REPOSITORY, 'e2e/package/recipes/frameworks.ts'), RECIPES);
  await page.addScriptTag({ content });
  const shown = page.locator('#shown');
  for (const framework of ['vue', 'solid', 'svelte']) {
    const name = `recipes-${framework}`;
    const write = (sql: string) =>
      page.evaluate(
        async ([name, sql]) => {
          const storage = await window.api.openStorage(name!);
          await storage.sql.exec(sql!).ready;
          await storage.close();
        },
        [name, sql],
      );
    await write('CREATE TABLE note(id INTEGER PRIMARY KEY, body, tag)');
    await write("INSERT INTO note(body, tag) VALUES ('one', 'a'), ('other', 'b')");
    await page.evaluate(
      async ([framework, name]) => {
        const storage = await window.api.openStorage(name!);
        window.shown = window.recipes.show(framework!, storage);
      },
      [framework, name],
    );
    await expect(shown).toHaveText('one');
    await write("UPDATE note SET body = 'two' WHERE tag = 'a'");
    await expect(shown).toHaveText('two');
    await page.evaluate(() => window.shown.choose('b'));
    await expect(shown).toHaveText('other');
    expect(await page.evaluate(() => window.recipes.listeners()), framework).toBe(1);
    // A store has no errors.
    if (framework !== 'svelte') {
      await write('ALTER TABLE note RENAME TO gone');
      await expect(shown).toContainText('failed: Error: no such table');
      await write('ALTER TABLE gone RENAME TO note');
      await expect(shown).toHaveText('other');
    }
    await page.evaluate(() => {
      window.shown.end();
      document.getElementById('shown')!.remove();
    });
    expect(await page.evaluate(() => window.recipes.listeners()), framework).toBe(0);
  }
});

test('[DRIZZLE1] [DRIZZLE2] [DRIZZLE3] Drizzle on a page: queries, transactions and migrations', {
  tag: LONG,
}, async ({ storagePage: page }) => {
  await page.addScriptTag({ content: await bundlePage(BUILDERS, RECIPES) });
  const folder = join(REPOSITORY, 'src/testing/drizzle');
  const paths = ['meta/_journal.json', '0000_quick_hawk.sql', '0001_slow_owl.sql'];
  const files = Object.fromEntries(
    paths.map((path) => [path, readFileSync(join(folder, path), 'utf8')]),
  );
  const seen = await page.evaluate(
    async (files) =>
      window.builders.drizzle(await window.api.openStorage('recipes-drizzle'), files),
    files,
  );
  expect(seen).toEqual(DRIZZLE_RESULTS);
});

test('[KYSELY1] [KYSELY2] [KYSELY3] Kysely on a page: statements and transactions', {
  tag: LONG,
}, async ({ storagePage: page }) => {
  await page.addScriptTag({ content: await bundlePage(BUILDERS, RECIPES) });
  const seen = await page.evaluate(async () =>
    window.builders.kysely(await window.api.openStorage('recipes-kysely')),
  );
  expect(seen).toEqual(ON_HANDLE);
});
