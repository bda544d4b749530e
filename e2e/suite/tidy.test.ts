// The code checked as code: layers, circles, file heads, sizes, state and names; and that
// the rule book and the tests agree.
//
// Accepted exceptions are in exceptions.ts, with their reasons.

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { MANIFEST, roomFolderOf } from '../package/rooms.ts';
import { MODULE_STATE, SHARED_NAMES, TESTS_WITHOUT_RULE } from './exceptions.ts';
import { exportedNames } from './exported-names.ts';
import { importCircles } from './import-circles.ts';
import { importFault, isTool, LOCAL_STORAGE, PROGRAM, productOf } from './layers.ts';
import { moduleState } from './module-state.ts';
import { listedRules, shownRules, testFiles } from './rules.ts';
import { listFiles, parseModule, pathsOf, ROOT, readSource, referencesOf } from './source-files.ts';
import { testTitles } from './test-titles.ts';

const files = listFiles(['src', 'worker', 'packages', 'demo', 'e2e'], /(?<!\.d)\.tsx?$/);
const sources = files.filter((file) => !file.endsWith('.test.ts') && !/(^|\/)e2e\//.test(file));
const product = sources.filter((file) => !file.startsWith('demo') && !isTool(file));
const syntax = new Map(files.map((file) => [file, parseModule(file, readSource(file))]));
const references = new Map([...syntax].map(([file, tree]) => [file, referencesOf(file, tree)]));

describe('source', () => {
  test('imports go only downward', () => {
    const wrong = sources.flatMap((file) =>
      references
        .get(file)!
        .imports.map((target) => [file, target, importFault(file, target)] as const)
        .filter(([, , fault]) => fault !== undefined)
        .map(([, target, fault]) => `${file} -> ${target}: ${fault}`),
    );
    expect(wrong).toEqual([]);
  });

  test('a package is reached by its name, through a door, and so is the core by packages', () => {
    const wrong = product.flatMap((file) =>
      pathsOf(syntax.get(file)!)
        .map((path) => join(dirname(file), path))
        .filter((target) => roomFolderOf(target) !== roomFolderOf(file) && !MANIFEST.test(target))
        .map((target) => `${file} -> ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  test('the page imports nothing of the worker, the worker nothing of the page', () => {
    const wrong: string[] = [];
    for (const file of sources) {
      for (const target of references.get(file)!.imports) {
        if (file === PROGRAM || file === LOCAL_STORAGE) continue;
        if (file.startsWith('src/') && target.startsWith('worker/'))
          wrong.push(`${file} -> ${target}`);
        if (file.startsWith('worker/') && target.startsWith('src/page/storage')) {
          wrong.push(`${file} -> ${target}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  test('no files import one another in a circle, types included', () => {
    const graph = new Map([...references].map(([file, { imports }]) => [file, imports]));
    expect(importCircles(graph)).toEqual([]);
  });

  test('every file begins with a comment that introduces it', () => {
    const headless = sources.filter((file) => !/^(#!.*\n)?(\/\/|\/\*)/.test(readSource(file)));
    expect(headless).toEqual([]);
  });

  test('no file is longer than 600 lines, no file of tests longer than 750', () => {
    const linesMax = (file: string) => (/\.(test|spec|suite)\.tsx?$/.test(file) ? 750 : 600);
    const long = files.filter(
      (file) => readSource(file).trimEnd().split('\n').length > linesMax(file),
    );
    expect(long).toEqual([]);
  });

  test('no module is left that nothing imports', () => {
    const entries = new Set([
      'src/index.ts',
      'packages/entries/connect-source.ts',
      'src/page/start/connect-only.ts',
      'packages/follow/protocol/model/main.ts',
      'packages/management/index.ts',
      'packages/management/adapters/node-playwright.ts',
      'packages/management/cli/node-main.ts',
      'packages/adapters/draft/draft.ts',
      'packages/adapters/drizzle/index.ts',
      'packages/adapters/history/live-history.ts',
      'packages/adapters/kysely/dialect.ts',
      'packages/adapters/react/index.ts',
      'packages/adapters/socket/reconnecting.ts',
      'packages/adapters/solid/index.ts',
      'packages/adapters/svelte/index.ts',
      'packages/adapters/vue/index.ts',
      'packages/adapters/undo/undo.ts',
      'packages/inspector/dev-page.ts',
      'packages/testing/playwright/index.ts',
      'packages/testing/playwright/page/helper.ts',
      'worker/start/entries/unhosted-worker.ts',
      PROGRAM,
      'worker/start/entries/storage-worker.ts',
      'worker/realm/modules/cloudflare-email.ts',
      'worker/realm/modules/diagnostics-channel.ts',
      'worker/start/entries/objects.ts',
      'packages/entries/node.ts',
      'worker/start/entries/node-library.ts',
      'packages/workers/vitest/host/cloudflare-test.ts',
      'packages/workers/vitest/plugin.ts',
      'worker/engine/vfs/build/write-wasm.ts',
      'packages/testing/election/main.ts',
      'packages/testing/engine/main.ts',
      'demo/main.tsx',
      'demo/bench/main.tsx',
      'demo/playground/main.tsx',
      'demo/devices/main.tsx',
      'demo/provider/main.tsx',
      'demo/sandbox/sandbox-worker.ts',
      'demo/sandbox/sandbox-plugin.ts',
      'demo/offline/first-load-plugin.ts',
      'demo/offline/offline-plugin.ts',
      'demo/offline/service-worker.ts',
    ]);
    const named = new Set(
      [...references.values()].flatMap(({ imports, addresses }) => [...imports, ...addresses]),
    );
    const html = readSource('demo/notes.html');
    const dead = sources.filter(
      (file) =>
        !entries.has(file) &&
        !named.has(file) &&
        !named.has(`${file}?raw`) &&
        !html.includes(file.slice(5)),
    );
    expect(dead).toEqual([]);
  });

  test('a module holds no mutable state except the listed state', () => {
    const found = product.flatMap((file) =>
      moduleState(syntax.get(file)!).map((name) => `${file} ${name}`),
    );
    expect(found.sort()).toEqual(Object.keys(MODULE_STATE).sort());
  });

  test('no module of the worker names the class that the Vite plugin imports for modules that name it', () => {
    const names = product.filter(
      (file) => file.startsWith('worker') && /\bHTMLRewriter\b/.test(readSource(file)),
    );
    expect(names).toEqual([]);
  });

  test('an exported name is declared once in a product', () => {
    const counts = new Map<string, number>();
    for (const file of product) {
      for (const name of exportedNames(syntax.get(file)!)) {
        const key = `${productOf(file)} ${name}`;
        counts.set(key, (counts.get(key) ?? 0) + 1);
      }
    }
    const shared = [...counts].filter(([, count]) => count > 1).map(([key]) => key.split(' ')[1]);
    expect(shared.sort()).toEqual(Object.keys(SHARED_NAMES).sort());
  });
});

describe('documents', () => {
  test('a file or folder that a document names exists', () => {
    const documents = [
      ...listFiles(['src', 'worker', 'packages', 'demo', 'e2e', 'docs'], /\.md$/),
      ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md'],
    ];
    const missing = documents.flatMap((file) =>
      [...readSource(file).matchAll(/`((?:src|worker|packages|demo|e2e|docs)\/[\w./-]+)`/g)]
        .map(([, path]) => path!)
        // A module may be named without its ending, and an example names its own files.
        .filter((path) => !['', '.ts'].some((ending) => existsSync(join(ROOT, path + ending))))
        .filter((path) => !existsSync(join(ROOT, dirname(file), path)))
        .map((path) => `${file}: ${path}`),
    );
    expect([...new Set(missing)]).toEqual([]);
  });
});

describe('rule book', () => {
  const listed = listedRules();
  const rules = new Set(listed.map(({ section, number }) => `${section}${number}`));
  const tests = testFiles();
  const shown = shownRules(tests);

  test('the numbers of a section ascend', () => {
    const last = new Map<string, number>();
    const wrong = listed.filter(({ section, number }) => {
      const previous = last.get(section) ?? 0;
      last.set(section, number);
      return number <= previous;
    });
    expect(wrong).toEqual([]);
  });

  test('every rule has a test', () => {
    expect([...rules].filter((id) => !shown.has(id))).toEqual([]);
  });

  test('every test names a rule that exists', () => {
    expect([...shown].filter((id) => !rules.has(id))).toEqual([]);
  });

  test('every test names a rule, or belongs to a group without rules', () => {
    const reasons = Object.keys(TESTS_WITHOUT_RULE);
    const without = tests.flatMap((file) =>
      testTitles(syntax.get(file)!)
        // A title that is only a parameter has its rule in the list of cases.
        .filter((title) => !/\[[A-Z]+\d+\]|\[…\]|(^| )(%s|\$title)$/.test(title))
        .map((title) => `${file} ${title}`),
    );
    expect(without.filter((name) => !reasons.some((known) => name.startsWith(known)))).toEqual([]);
    expect(reasons.filter((known) => !without.some((name) => name.startsWith(known)))).toEqual([]);
  });
});
