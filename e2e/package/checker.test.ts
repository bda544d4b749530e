// The playground's checker, as its worker has it, over code that a visitor writes.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Checker, type CodeFiles } from '../../demo/checker/checker.ts';

const EXAMPLES = join(import.meta.dirname, '../../demo/playground/examples');
const LIBRARY = join(import.meta.dirname, '../../worker/realm/library/library.ts');

const checker = new Checker();

/** A class whose method `add` has these lines. */
const counter = (...lines: string[]): CodeFiles => ({
  'main.ts': `import { DurableObject } from 'cloudflare:workers';
export class Counter extends DurableObject {
  async add(by = 1) {
${lines.join('\n')}
    return by;
  }
}
export const step = 1;
`,
});

/** The place and the first line of each mistake. */
const mistakesIn = (files: CodeFiles) =>
  checker
    .check(files)
    .map(({ path, line, message }) => `${path}:${line}: ${message.split('\n')[0]}`);

/** Where the text has its last `|`, and the code without it. */
function cursorIn(files: CodeFiles): [CodeFiles, string, number] {
  const text = files['main.ts']!;
  const at = text.lastIndexOf('|');
  return [{ ...files, 'main.ts': text.slice(0, at) + text.slice(at + 1) }, 'main.ts', at];
}

test('[DEMO24] an unknown method, a wrong argument and a wrong alarm are mistakes, at their places', {
  tags: 'long',
}, () => {
  const putt = counter("this.ctx.storage.putt('a', 1);");
  expect(checker.check(putt)).toEqual([
    {
      path: 'main.ts',
      line: 4,
      column: 17,
      length: 4,
      message: "Property 'putt' does not exist on type 'DurableObjectStorage'. Did you mean 'put'?",
    },
  ]);
  expect(checker.check(counter('await this.ctx.storage.put(1, 2);'))[0]?.message).toBe(
    "No overload matches this call.\nArgument of type 'number' is not assignable to parameter of type 'string'.",
  );
  expect(mistakesIn(counter("await this.ctx.storage.setAlarm('tomorrow');"))).toEqual([
    "main.ts:4: Argument of type 'string' is not assignable to parameter of type 'number | Date'.",
  ]);
  const alarm = "import { DurableObject } from 'cloudflare:workers';\n";
  expect(
    mistakesIn({
      'main.ts': `${alarm}export class A extends DurableObject { alarm(at: string) {} }`,
    }),
  ).toEqual([expect.stringContaining("main.ts:2: Property 'alarm' in type 'A' is not assignable")]);
  expect(mistakesIn(counter('this.ctx.storage.put('))).toEqual([
    'main.ts:5: Argument expression expected.',
  ]);
  // Answers concern the code of their question alone.
  expect(mistakesIn(counter("await this.ctx.storage.put('a', 1);"))).toEqual([]);
});

test('[DEMO24] no example has a mistake, in several files too', () => {
  const paths = readdirSync(EXAMPLES);
  const files = Object.fromEntries(
    paths.map((path) => [path, readFileSync(join(EXAMPLES, path), 'utf8')]),
  );
  expect(paths.length).toBeGreaterThan(6);
  expect(mistakesIn(files)).toEqual([]);
});

test('[DEMO24] JavaScript without types is no mistake, in files of both endings', () => {
  const text = `import { DurableObject } from 'cloudflare:workers';
export class Plain extends DurableObject {
  add(first, ...others) {
    const all = [];
    for (const one of [first, ...others]) all.push(one.name);
    try { return all.join(first); } catch (error) { return error.message; }
  }
}`;
  expect(mistakesIn({ 'main.ts': text })).toEqual([]);
  expect(mistakesIn({ 'main.js': text })).toEqual([]);
  expect(mistakesIn({ 'main.js': text.replace('all.push', 'all.pusch') })).toEqual([
    expect.stringContaining("main.js:5: Property 'pusch' does not exist"),
  ]);
});

test("[DEMO25] code has a worker's globals and workerd's sockets", () => {
  const globals = [
    'const { 0: client, 1: server } = new WebSocketPair();',
    "new HTMLRewriter().on('a', { element: (link) => void link.setAttribute('rel', '') });",
    'this.ctx.acceptWebSocket(server);',
    'const sockets: WebSocket[] = this.ctx.getWebSockets();',
    'await scheduler.wait(by);',
    'if (sockets.length > 0) return new Response(null, { status: 101, webSocket: client });',
  ];
  expect(mistakesIn(counter(...globals, 'document.title;'))).toEqual([
    expect.stringContaining("main.ts:10: Cannot find name 'document'"),
  ]);
});

test("[DEMO25] env has a namespace for each of the code's classes", () => {
  const shop = (...lines: string[]): CodeFiles => {
    const { 'main.ts': main } = counter(...lines);
    return {
      'main.ts': `${main}export { Till } from './till';`,
      'till.ts': `import { DurableObject } from 'cloudflare:workers';
export class Till extends DurableObject { sell(what: string) { return what; } }
export class Drawer extends DurableObject {}`,
    };
  };
  const counterCall = (call: string) => `await this.env.Counter.getByName('a').${call};`;
  const tillCall = (call: string) => `await this.env.Till.getByName('a').${call};`;
  expect(mistakesIn(shop(counterCall('add(1)'), tillCall("sell('tea')")))).toEqual([]);
  expect(
    mistakesIn(
      shop(
        counterCall("add('1')"),
        counterCall("sell('tea')"),
        tillCall('sell(1)'),
        tillCall('add(1)'),
      ),
    ),
  ).toEqual([
    "main.ts:4: Argument of type 'string' is not assignable to parameter of type 'number'.",
    expect.stringContaining("main.ts:5: Property 'sell' does not exist"),
    "main.ts:6: Argument of type 'number' is not assignable to parameter of type 'string'.",
    expect.stringContaining("main.ts:7: Property 'add' does not exist"),
  ]);
  expect(mistakesIn(shop('this.env.Drawer; this.env.step;'))).toEqual([
    expect.stringContaining("Property 'Drawer' does not exist on type 'Env'"),
    expect.stringContaining("Property 'step' does not exist on type 'Env'"),
  ]);
});

test('[DEMO25] the module cloudflare:workers has the names of the package, as values and types', () => {
  const names = [...readFileSync(LIBRARY, 'utf8').matchAll(/export (?:type )?\{([^}]*)\}/g)]
    .flatMap(([, list]) => list!.split(','))
    .map((name) => name.replace('type ', '').trim())
    .filter((name) => name !== '');
  expect(names).toContain('DurableObject');
  for (const from of ['cloudflare:workers', 'ctx-storage/worker']) {
    const text = `export { ${names.join(', ')} } from '${from}';`;
    expect(mistakesIn({ 'main.ts': text })).toEqual([]);
  }
});

test('[DEMO26] after ctx.storage. each member is suggested with its declaration and documentation', () => {
  const place = cursorIn(counter('this.ctx.storage.|'));
  const labels = checker.suggest(...place).map(({ label }) => label);
  expect(labels).toEqual(
    expect.arrayContaining([
      'put',
      'get',
      'delete',
      'list',
      'sql',
      'kv',
      'setAlarm',
      'transaction',
    ]),
  );
  const undocumented = labels.filter((label) => checker.explain(...place, label)?.text === '');
  expect(undocumented).toEqual([]);
  const put = checker.explain(...place, 'put')!;
  expect(put.signature).toContain('put<T>(key: string, value: T, options?: WriteOptions)');
  expect(put.text).toContain('key may have 2,048 bytes');
  expect(checker.explain(...place, 'putt')).toBe(null);
  // Names of the code come before the many globals.
  const names = checker.suggest(...cursorIn(counter('b|')));
  expect(names.find(({ label }) => label === 'by')?.isNear).toBe(true);
  expect(names.find(({ label }) => label === 'btoa')?.isNear).toBe(false);
});

test('[DEMO26] the name at a place is explained, with its extent', () => {
  const [files, path, at] = cursorIn(counter('await this.ctx.storage.set|Alarm(1);'));
  const about = checker.describe(files, path, at)!;
  expect(files[path]!.slice(about.from, about.to)).toBe('setAlarm');
  expect(about.signature).toContain('setAlarm(');
  expect(about.text).not.toBe('');
  expect(checker.describe(...cursorIn({ 'main.ts': '// only | words' }))).toBe(null);
});
