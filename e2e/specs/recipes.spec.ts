// The examples of docs/live.md with the frameworks they are for, and query builders on a page.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DRIZZLE_RESULTS } from '../../packages/adapters/testing/drizzle-program.ts';
import { ON_HANDLE } from '../../packages/adapters/testing/kysely-program.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { REPOSITORY } from '../browsers/server.ts';
import { LONG, ONCE } from '../browsers/tags.ts';
import { bundlePage, recipeOf } from '../package/recipes/recipes.ts';

const RECIPES = {
  'live.vue': recipeOf('live.md', "from 'ctx-storage/vue'"),
  'live.svelte': recipeOf('live.md', "from 'ctx-storage/svelte'"),
};

const BUILDERS = join(REPOSITORY, 'e2e/package/recipes/query-builders.ts');

test('[LIVE16] the examples of the guide show each change, other reads and errors, and end', {
  tag: LONG,
}, async ({ storagePage: page }) => {
  const content = await bundlePage(join(REPOSITORY, 'e2e/package/recipes/frameworks.ts'), RECIPES);
  await page.addScriptTag({ content });
  const shown = page.locator('#shown');
  const listeners = () => page.evaluate(() => window.recipes.listeners());
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
    await expect.poll(listeners, framework).toBe(1);
    await write('ALTER TABLE note RENAME TO gone');
    await expect(shown).toContainText('Error: no such table');
    await write('ALTER TABLE gone RENAME TO note');
    await expect(shown).toHaveText('other');
    await page.evaluate(() => {
      window.shown.end();
      document.getElementById('shown')!.remove();
    });
    await expect.poll(listeners, framework).toBe(0);
  }
});

test('[DRIZZLE1] [DRIZZLE2] [DRIZZLE3] Drizzle on a page: queries, transactions and migrations', {
  tag: [LONG, ONCE],
}, async ({ storagePage: page }) => {
  await page.addScriptTag({ content: await bundlePage(BUILDERS, RECIPES) });
  const folder = join(REPOSITORY, 'packages/adapters/testing/drizzle');
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
  tag: [LONG, ONCE],
}, async ({ storagePage: page }) => {
  await page.addScriptTag({ content: await bundlePage(BUILDERS, RECIPES) });
  const seen = await page.evaluate(async () =>
    window.builders.kysely(await window.api.openStorage('recipes-kysely')),
  );
  expect(seen).toEqual(ON_HANDLE);
});
