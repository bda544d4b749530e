// The code of the documents, compiled.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../../suite/source-files.ts';
import { apiEntries } from './api-reference.ts';
import { modulesOf } from './code-blocks.ts';
import { PAGES } from './pages.ts';

/** Files that blocks import, and other documents or the reader's app have. */
const SHARED: Readonly<Record<string, string>> = {
  'from-a-page/counter.ts': "export { Counter } from '../README/counter.ts';",
  'testing/counter.ts': "export { Counter } from '../README/counter.ts';",
  'src/app.ts': 'export type Classes = globalThis.Classes;',
};

test('[DOC3] every block of TypeScript in the documents compiles with the types of the package', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ctx-storage-documents-'));
  try {
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    const modules = PAGES.flatMap(({ file }) => modulesOf(file));
    // Elsewhere in this repository, JSX is Preact's.
    const jsx = (path: string) => (path.endsWith('.tsx') ? '/** @jsxImportSource react */\n' : '');
    const texts = new Map(
      modules.map(({ path, code }) => [path, `${jsx(path)}${code}\nexport {};\n`]),
    );
    for (const [path, code] of [...texts, ...Object.entries(SHARED)]) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), code);
    }
    expect(texts.size, 'two files of one name in a document').toBe(modules.length);
    const entries = apiEntries().map(({ name, module }) => [name, [join(ROOT, module)]]);
    const config = {
      extends: join(ROOT, 'tsconfig.base.json'),
      compilerOptions: {
        lib: ['ESNext', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
        types: ['node', 'vite/client'],
        jsx: 'react-jsx',
        jsxImportSource: 'preact',
        noUnusedLocals: false,
        noUnusedParameters: false,
        skipLibCheck: true,
        noEmit: true,
        paths: Object.fromEntries(entries),
      },
      files: [join(ROOT, 'e2e/package/site/prelude.d.ts'), ...texts.keys()],
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    expect(problemsIn(folder)).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** The compiler's messages about the project, a line each. */
function problemsIn(folder: string): string[] {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  try {
    execFileSync(process.execPath, [tsc, '-p', folder, '--pretty', 'false'], { encoding: 'utf8' });
    return [];
  } catch (error) {
    return (error as { stdout: string }).stdout.trim().split('\n');
  }
}
