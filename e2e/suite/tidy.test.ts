// The code checked as code: layers, circles, file heads, sizes, state, names and phrases; and that
// the rule book and the tests agree.
//
// Accepted exceptions are in exceptions.ts, with their reasons.

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { densityOf, excesses, proseOfComments, proseOfMarkdown, together } from './density.ts';
import { MODULE_STATE, SHARED_NAMES, TESTS_WITHOUT_RULE } from './exceptions.ts';
import { exportedNames } from './exported-names.ts';
import { importCircles } from './import-circles.ts';
import { importFault, isTool, LOCAL_STORAGE, PROGRAM, productOf } from './layers.ts';
import { moduleState } from './module-state.ts';
import { PHRASES, phrasesIn } from './phrases.ts';
import { listedRules, shownRules, testFiles } from './rules.ts';
import {
  commentsIn,
  isNode,
  listFiles,
  parseModule,
  ROOT,
  readSource,
  referencesOf,
  type SyntaxNode,
  walk,
} from './source-files.ts';
import { testTitles } from './test-titles.ts';

/** Files that contain the phrases as examples. */
const WITH_EXAMPLES = [
  'e2e/suite/density.ts',
  'e2e/suite/phrases.ts',
  'e2e/suite/tidy-checks.test.ts',
];

/** The folders whose comments are measured together. */
const WINGS = [
  ...[
    'src/index.ts',
    'src/shared',
    'src/page',
    'src/follow',
    'src/tools',
    'src/management',
    'src/testing',
  ],
  ...['worker/engine', 'worker/objects', 'worker/realm', 'worker/start'],
  ...['worker/sim', 'worker/testing', 'demo', 'e2e'],
];

const files = listFiles(['src', 'worker', 'demo', 'e2e'], /(?<!\.d)\.tsx?$/);
const sources = files.filter((file) => !file.endsWith('.test.ts') && !file.startsWith('e2e'));
const product = sources.filter((file) => !file.startsWith('demo') && !isTool(file));
const syntax = new Map(files.map((file) => [file, parseModule(file, readSource(file))]));
const references = new Map([...syntax].map(([file, tree]) => [file, referencesOf(file, tree)]));

/** The literal text of the errors that a module makes: the arguments of functions whose names end with "Error". */
function textOfErrors(statements: readonly SyntaxNode[]): string {
  const found: string[] = [];
  const collect = (node: SyntaxNode) => {
    if (node.type === 'Literal' && typeof node.value === 'string') found.push(node.value);
    if (node.type === 'TemplateElement') found.push((node.value as { raw: string }).raw);
  };
  walk(statements, ({ type, callee, arguments: given }) => {
    const makes = type === 'CallExpression' || type === 'NewExpression';
    if (makes && isNode(callee) && /Error$/.test(String(callee.name))) walk(given, collect);
  });
  return found.join(' ');
}

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
      'src/page/start/connect-source.ts',
      'src/page/start/connect-only.ts',
      'src/follow/protocol/model/main.ts',
      'src/management/index.ts',
      'src/tools/draft/draft.ts',
      'src/tools/drizzle/index.ts',
      'src/tools/history/live-history.ts',
      'src/tools/kysely/dialect.ts',
      'src/tools/react/index.ts',
      'src/tools/socket/reconnecting.ts',
      'src/tools/solid/index.ts',
      'src/tools/svelte/index.ts',
      'src/tools/vue/index.ts',
      'src/tools/undo/undo.ts',
      'src/tools/inspector/dev-page.ts',
      'src/tools/playwright/index.ts',
      'src/tools/playwright/page/helper.ts',
      'worker/start/entries/unhosted-worker.ts',
      PROGRAM,
      'worker/start/entries/storage-worker.ts',
      'worker/realm/modules/cloudflare-email.ts',
      'worker/realm/modules/diagnostics-channel.ts',
      'worker/start/entries/objects.ts',
      'demo/objects/room.ts',
      'worker/start/entries/node-objects.ts',
      'worker/start/entries/node-library.ts',
      'worker/vitest/cloudflare-test.ts',
      'src/tools/vitest/plugin.ts',
      'worker/engine/vfs/build/write-wasm.ts',
      'worker/sim/main.ts',
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

describe('words', () => {
  const texts = [
    ...listFiles(['src', 'worker', 'demo', 'e2e', 'docs'], /\.([mt]s|tsx|mjs|md)$/),
    ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md'],
  ].filter((file) => !file.includes('/corpus/') && !WITH_EXAMPLES.includes(file));

  test('text reads as a native technical writer would write it', () => {
    const found = Object.fromEntries(PHRASES.map(({ name }) => [name, [] as string[]]));
    for (const file of texts) {
      for (const name of phrasesIn(readSource(file))) found[name]!.push(file);
    }
    for (const { name, instead } of PHRASES) {
      expect(found[name], `'${name}': write '${instead}'`).toEqual([]);
    }
  });

  test('no page is dense in "what", "one that" or long sentences', () => {
    const documents = texts.filter((file) => file.endsWith('.md'));
    const dense = documents.flatMap((file) =>
      excesses(densityOf(proseOfMarkdown(readSource(file)))).map((excess) => `${file}: ${excess}`),
    );
    expect(dense).toEqual([]);
  });

  test.each(WINGS)(
    'comments of %s are not dense in "what", "one that" or long sentences',
    (wing) => {
      const inWing = files.filter((file) => file.startsWith(wing));
      const densities = inWing
        .filter((file) => !file.includes('/corpus/') && !WITH_EXAMPLES.includes(file))
        .map((file) => densityOf(proseOfComments(commentsIn(file, readSource(file)))));
      expect(densities).not.toEqual([]);
      expect(excesses(together(densities))).toEqual([]);
    },
  );

  test('error messages and titles of tests are not dense in "what" or "one that"', () => {
    const messages = product.map((file) => textOfErrors(syntax.get(file)!));
    const titles = files
      .filter((file) => /\.(test|spec|suite)\.ts$/.test(file) && !WITH_EXAMPLES.includes(file))
      .flatMap((file) => testTitles(syntax.get(file)!));
    for (const texts of [messages, titles]) {
      const { words, what, oneThat } = densityOf(texts.join('.\n\n').replace(/`[^`]*`/g, ''));
      // Messages and titles are fragments, which end without a full stop.
      expect(excesses({ words, what, oneThat, sentences: words })).toEqual([]);
      expect(words).toBeGreaterThan(1000);
    }
  });

  test('a file or folder that a document names exists', () => {
    const documents = texts.filter((file) => file.endsWith('.md'));
    const missing = documents.flatMap((file) =>
      [...readSource(file).matchAll(/`((?:src|worker|demo|e2e|docs)\/[\w./-]+)`/g)]
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
