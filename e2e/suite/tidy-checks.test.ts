// The checks of tidy.test.ts, each on sources that it must and must not find.

import { expect, test } from 'vitest';
import { exportedNames } from './exported-names.ts';
import { importCircles } from './import-circles.ts';
import { importFault } from './layers.ts';
import { moduleState } from './module-state.ts';
import { parseModule, referencesOf } from './source-files.ts';
import { testTitles } from './test-titles.ts';

const parse = (text: string) => parseModule('src/shared/calls/io/a.ts', text);

test('imports are found in every form, and only in code', () => {
  const { imports, addresses } = referencesOf(
    'src/shared/calls/io/a.ts',
    parse(`import type { A } from './b.ts';
      export * from '../../wire/c.ts';
      export { d } from './d.ts';
      type E = import('./e.ts').E;
      const load = () => import('./f.ts');
      const start = () => new Worker(new URL('./g.ts', import.meta.url));
      // import { h } from './h.ts';
      const text = "import { i } from './i.ts'";`),
  );
  expect(imports).toEqual([
    'src/shared/calls/io/b.ts',
    'src/shared/wire/c.ts',
    'src/shared/calls/io/d.ts',
    'src/shared/calls/io/e.ts',
    'src/shared/calls/io/f.ts',
  ]);
  expect(addresses).toEqual(['src/shared/calls/io/g.ts']);
});

test('circles are found, whatever lies around them', () => {
  const imports = new Map([
    ['entry', ['a', 'lone']],
    ['a', ['b']],
    ['b', ['c', 'lone']],
    ['c', ['a', 'd']],
    ['d', ['e']],
    ['e', ['d']],
    ['lone', []],
    ['self', ['self']],
  ]);
  expect(importCircles(imports)).toEqual([['a', 'b', 'c'], ['d', 'e'], ['self']]);
});

test.for([
  ['let a = 1;', ['a']],
  ['export let a: number;', ['a']],
  ['const a = new Map<string, number>();', ['a']],
  ['export const a: string[] = [];', ['a']],
  ['export const a = {} as Record<string, number>;', ['a']],
  ['const a: string[] = []; const f = () => a.push("b");', ['a']],
  ['const a = new Uint8Array(9);', ['a']],
  ['const a = new Array(9).fill(0);', ['a']],
  ['const a = new Service();', ['a']],
  ['const a = createService();', ['a']],
  ['const a = { b: 1 }; function f() { a.b = 2; }', ['a']],
  ['const a = [1]; const f = () => a.push(2);', ['a']],
  [
    'class A { static count = 0; static readonly #known = new WeakMap(); }',
    ['A.count', 'A.#known'],
  ],
] as const)('the state of %s is found', ([text, names]) => {
  expect(moduleState(parse(text))).toEqual(names);
});

test.for([
  'const a = 1;',
  "const a = new Set(['b']); const f = () => a.has('b');",
  'const a = new Uint8Array([1, 2]);',
  'const a = new TextEncoder();',
  'const a = /b/g;',
  'const a: Handlers = {}; const f = () => a.b;',
  'function f() { let a = 1; const b = []; b.push(a); }',
  'class A { static readonly OPEN = 1; #count = 0; }',
  'declare const a: Map<string, number>;',
])('%s holds no state', (text) => {
  expect(moduleState(parse(text))).toEqual([]);
});

test('an exported name counts where it is declared', () => {
  const tree = parse(`export const a = 1, b = 2;
    export function c() {}
    export class D {}
    export type E = string;
    export interface F {}
    export { g } from './g.ts';
    const h = 1;`);
  expect([...exportedNames(tree)]).toEqual(['a', 'b', 'c', 'D', 'E', 'F']);
});

test.for([
  [
    'worker/engine/storage/a.ts',
    'worker/objects/host/b.ts',
    'worker/engine/storage is not above worker/objects/host',
  ],
  ['worker/new/a.ts', 'src/shared/contract/errors.ts', 'worker/new has no layer'],
  ['worker/engine/log/a.ts', 'packages/testing/worker/b.ts', 'the product imports a tool'],
  [
    'demo/a.ts',
    'src/page/storage/b.ts',
    'the demo imports a module that the package does not export',
  ],
  [
    'packages/management/call/a.ts',
    'src/page/storage/b.ts',
    'packages/management/call is not above src/page/storage',
  ],
  [
    'packages/cli/node-main.ts',
    'packages/management/index.ts',
    'packages/cli is not above packages/management',
  ],
  ['packages/command-line/a.ts', 'packages/management/package.json', undefined],
  ['worker/objects/host/a.ts', 'worker/objects/instance/b.ts', undefined],
  ['packages/testing/worker/a.ts', 'worker/objects/host/b.ts', undefined],
] as const)('%s importing %s: %s', ([file, target, fault]) => {
  expect(importFault(file, target)).toBe(fault);
});

test('titles include those of their groups', () => {
  const tree = parse(`describe('a', () => {
      test('b', () => {});
      test.for([1])('c %s', () => {});
      for (const d of ds) test(\`[\${d}] e\`, { timeout: 1 }, () => {});
    });
    test.describe('f', () => test(name, () => {}));
    test.describe.configure({ mode: 'serial' });
    test.setTimeout(5);`);
  expect(testTitles(tree)).toEqual(['a b', 'a c %s', 'a […] e', 'f …']);
});
