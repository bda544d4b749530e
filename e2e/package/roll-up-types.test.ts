import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { rollUpTypes } from './roll-up-types.ts';

const folder = mkdtempSync(join(tmpdir(), 'ctx-storage-types-'));
afterAll(() => rmSync(folder, { recursive: true }));

const SOURCES = {
  'inside/clock.d.ts': `
/** Moves. */
export declare class Clock {
    #private;
    /** Where it is. */
    now(): number;
}
export declare function hidden(): void;
`,
  'page.d.ts': `
import type { Clock } from './inside/clock.ts';
import type { Plugin } from 'vite';
export { Clock } from './inside/clock.ts';
export type Failure = Error & {
    readonly code: string;
    /** May be repeated. */
    readonly retryable?: boolean;
    /**
     * Another time.
     *
     * @param clock whose; /** is no comment here
     */
    again(clock: Clock, plugin: Plugin): void;
};
export type First = Error & {
    /** Comes first. */
    first(): void;
};
`,
  'worker.d.ts': `
export { Clock } from './inside/clock.ts';
export interface Owner {
    readonly id: string;
}
`,
};

test('[PKG12] entries share one declaration of a class, and comments stay above their declarations', async () => {
  mkdirSync(join(folder, 'from/inside'), { recursive: true });
  for (const [name, text] of Object.entries(SOURCES)) {
    writeFileSync(join(folder, 'from', name), text);
  }
  const from = (name: string) => join(folder, 'from', name);
  const to = join(folder, 'to');
  await rollUpTypes({ page: from('page.d.ts'), objects: from('worker.d.ts') }, to, folder);
  const files = readdirSync(to, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.d.ts'))
    .sort();
  expect(files).toEqual(['objects.d.ts', 'page.d.ts', 'shared/clock.d.ts']);
  const [objects, page, shared] = files.map((name) => readFileSync(join(to, name), 'utf8'));
  expect(shared).toContain(
    '/** Moves. */\ndeclare class Clock {\n  #private;\n  /** Where it is. */\n',
  );
  expect(shared).toContain('export { Clock };');
  expect(shared).not.toContain('hidden');
  expect(objects).toContain('import { Clock } from "./shared/clock.js";');
  expect(page).toContain('from "vite"');
  expect([objects, page, shared].join('\n')).not.toMatch(/^\/\/ /m);
  expect(page).toContain(`type Failure = Error & {
  readonly code: string;
  /** May be repeated. */
  readonly retryable?: boolean;
  /**
   * Another time.
   *
   * @param clock whose; /** is no comment here
   */
  again(clock: Clock, plugin: Plugin): void;
};`);
  expect(page).toContain('  /** Comes first. */\n  first(): void;\n');
});
