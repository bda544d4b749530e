// Tests source code that is linked and loaded into Node. A data URL, which contains the text, replaces the Blob URL.

import { describe, expect, test } from 'vitest';
import { checkSource, type SourceFiles } from '../../../src/shared/contract/source.ts';
import { compareSourceBuilds, sourceBuild } from '../../../src/shared/contract/source-build.ts';
import { relayConsole } from './console-relay.ts';
import { linkModules } from './link-modules.ts';
import { loadModules, type ModuleLoader } from './load-source.ts';

const loader: ModuleLoader = {
  addressOf: (text) => `data:text/javascript;base64,${Buffer.from(text).toString('base64')}`,
  load: (address) => import(/* @vite-ignore */ address),
};

const load = (files: SourceFiles, main?: string) =>
  loadModules(checkSource('test', files, main), loader);

const COUNTER = `import { DurableObject } from 'cloudflare:workers';
import { step } from './lib/step.js';
export class Counter extends DurableObject {
  step() { return step; }
  async later() { return (await import('./lib/later.js')).later; }
}
export const words = ['a'];
export class Plain {}
`;

test('[SRC1] the exported classes that extend DurableObject are served; files import each other, and the base classes', async () => {
  const { classes, exports } = await load({
    'lib/step.ts': "export { step } from '../numbers';",
    'numbers.js': 'export const step = 7;',
    'lib/later.js': "export const later = import.meta.url.length > 0 && 'later';",
    'main.js': COUNTER,
  });
  expect(Object.keys(classes)).toEqual(['Counter']);
  expect(Object.keys(exports).sort()).toEqual(['Counter', 'Plain', 'words']);
  const counter = classes.Counter!.prototype as { step(): number; later(): Promise<string> };
  expect([counter.step(), await counter.later()]).toEqual([7, 'later']);
});

test("[SRC1] a module's imports come before it, once; dynamic imports too", async () => {
  const linked = await linkModules(
    {
      'a.js':
        "import './b.js'; import './c.js'; await import('./d.js'); import.meta; import('https://x.test/y.js')",
      'b.js': "import './c.js'",
      'c.js': '',
      'd.js': '',
      'unused.js': '',
    },
    'a.js',
  );
  expect(linked.map(({ path }) => path)).toEqual(['c.js', 'b.js', 'd.js', 'a.js']);
});

describe('[SRC3] source that cannot be loaded is SOURCE_INVALID that names the file', () => {
  test.for<[string, SourceFiles, RegExp]>([
    ['a syntax error', { 'main.js': 'export class {' }, /main\.js/],
    ['an unfinished text', { 'main.js': 'const a = `' }, /^main\.js/],
    ['a file that is not there', { 'main.js': "import './b.js'" }, /main\.js imports "\.\/b\.js"/],
    ['a path above the files', { 'main.js': "import '../b.js'" }, /imports "\.\.\/b\.js"/],
    ['a package', { 'main.js': "import 'lodash'" }, /main\.js imports "lodash".*bundle/],
    [
      'files that import each other',
      { 'main.js': "import './b.js'", 'b.js': "import './main.js'" },
      /main\.js imports b\.js imports main\.js/,
    ],
    [
      'an error at load, in another file',
      { 'main.js': "import './b.js'", 'b.js': '\n\nnull.x;' },
      /^b\.js(:3:\d+)? failed while it was loaded: TypeError/,
    ],
    [
      'no class',
      { 'main.js': 'export const a = 1; export class B {}' },
      /exports: B, a|exports: a, B/,
    ],
    ['nothing exported', { 'main.js': '' }, /exports: nothing/],
  ])('%s', async ([, files, message]) => {
    await expect(load(files, 'main.js')).rejects.toMatchObject({
      code: 'SOURCE_INVALID',
      message: expect.stringMatching(message),
    });
  });
});

describe('[SRC2] files that are not modules by path are INVALID_ARGUMENT', () => {
  test.for<[string, unknown, unknown?]>([
    ['no object', 'text'],
    ['an array', ['text']],
    ['no file', {}],
    ['a path above', { '../main.js': '' }],
    ['an absolute path', { '/main.js': '' }],
    ['a path with a space', { 'my main.js': '' }],
    ['a number as text', { 'main.js': 1 }],
    ['several files without a main one', { 'a.js': '', 'b.js': '' }],
    ['a main file that is not there', { 'a.js': '' }, 'b.js'],
  ])('%s', ([, files, main]) => {
    expect(() => checkSource('test', files, main)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(/^test: /),
      }),
    );
  });

  test('the main file is the only one, or has its usual name', () => {
    expect(checkSource('test', { 'a.ts': '' }, undefined).main).toBe('a.ts');
    expect(checkSource('test', { 'a.js': '', 'index.ts': '' }, undefined).main).toBe('index.ts');
    expect(checkSource('test', { 'a.js': '', 'index.ts': '' }, 'a.js').main).toBe('a.js');
  });
});

test('[SRC5] of two versions the later is newer; equal ones are the same', () => {
  const [one, two] = [sourceBuild(1000, 'a'), sourceBuild(2000, 'b')];
  expect(compareSourceBuilds(two, one)).toBeGreaterThan(0);
  expect(compareSourceBuilds(one, two)).toBeLessThan(0);
  expect(compareSourceBuilds(one, sourceBuild(3000, 'a'))).toBe(0);
  const [same, other] = [sourceBuild(1000, 'b'), one];
  expect(compareSourceBuilds(same, other)).toBe(-compareSourceBuilds(other, same));
});

test('[SRC7] the console prints as before, and tells a bounded part', () => {
  const written: unknown[][] = [];
  const writer =
    (level: string) =>
    (...parts: unknown[]) =>
      void written.push([level, ...parts]);
  const target = {
    debug: writer('debug'),
    log: writer('log'),
    info: writer('info'),
    warn: writer('warn'),
    error: writer('error'),
  };
  const told: { level: string; text: string }[] = [];
  let timeMs = 1000;
  relayConsole(
    target,
    () => timeMs,
    (entry) => told.push(entry),
  );
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  const parts = ['a', 1n, { b: [new Set([1])] }, circular, undefined];
  const error = new TypeError('no');
  target.log(...parts);
  target.error(error);
  target.warn('x'.repeat(5000));
  expect(written).toEqual([
    ['log', ...parts],
    ['error', error],
    ['warn', 'x'.repeat(5000)],
  ]);
  expect(told[0]).toMatchObject({
    level: 'log',
    text: 'a 1 {"b":[{"Set":[1]}]} [object Object] undefined',
  });
  expect(told[1]).toMatchObject({ level: 'error', text: expect.stringContaining('TypeError: no') });
  expect(told[2]).toMatchObject({ level: 'warn', text: `${'x'.repeat(3999)}…` });
  for (let n = 0; n < 1000; n++) target.log('again');
  expect(told).toHaveLength(500);
  expect(told.at(-1)).toMatchObject({ level: 'warn', text: expect.stringContaining('left out') });
  timeMs = 2000;
  target.log('later');
  expect(told.at(-1)!.text).toBe('later');
  expect(written).toHaveLength(1004);
});
