// The recipes of docs/live.md and docs/query-builders.md, with the libraries they are for.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ON_HANDLE } from '../../src/testing/kysely-program.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { REPOSITORY } from '../browsers/server.ts';
import { LONG, ONCE } from '../browsers/tags.ts';
import { bundlePage, recipeOf } from '../package/recipes/recipes.ts';

const RECIPES = {
  'vue.ts': recipeOf('live.md', "from 'vue'"),
  'solid.ts': recipeOf('live.md', "from 'solid-js'"),
  'live.svelte': recipeOf('live.md', '$derived'),
  'drizzle.ts': recipeOf('query-builders.md', "from 'drizzle-orm/sqlite-proxy'"),
};

const BUILDERS = join(REPOSITORY, 'e2e/package/recipes/query-builders.ts');

test('[LIVE16] [APP3] the recipes compile with the types of their libraries', { tag: ONCE }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'ctx-storage-recipes-'));
  try {
    symlinkSync(join(REPOSITORY, 'node_modules'), join(folder, 'node_modules'));
    const files = ['vue.ts', 'solid.ts', 'drizzle.ts'] as const;
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

test('[APP3] Drizzle on a page: queries, and transactions that are whole or absent', {
  tag: LONG,
}, async ({ storagePage: page }) => {
  await page.addScriptTag({ content: await bundlePage(BUILDERS, RECIPES) });
  const seen = await page.evaluate(async () =>
    window.builders.drizzle(await window.api.openStorage('recipes-drizzle')),
  );
  expect(seen).toEqual({
    inserted: [
      { id: 1, name: 'Ursula', tags: ['a', 'b'] },
      { id: 2, name: 'Stanislaw', tags: null },
    ],
    found: { id: 2, name: 'Stanislaw', tags: [] },
    missing: null,
    codes: { failed: 'SQL', refused: 'SQL_FORBIDDEN', undone: 'SQL', batchUndone: 'SQL' },
    selected: [{ count: 3 }],
    names: ['Ursula', 'Octavia', 'Iain'],
  });
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
