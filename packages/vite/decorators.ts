// Compiles standard decorators, which browsers do not support and Vite does not compile.
//
// Invariant: the plugin runs after Vite has compiled TypeScript, so the decorators of a project with
// `experimentalDecorators` are already compiled. It changes nothing else in a module.

import type { Plugin } from 'vite';

const SCRIPT = /\.[cm]?[jt]sx?$/;
/** Matches code that may have decorators, without lines that are comments. A false match only costs time. */
const MAY_DECORATE = /^(?![ \t]*(?:\*|\/[/*])).*?(?<![\p{ID_Continue}$])@[\p{ID_Start}$_(]/mu;

export function decoratorsPlugin(): Plugin {
  return {
    name: 'ctx-storage:decorators',
    async transform(code, id) {
      const [file] = id.split('?') as [string];
      if (!SCRIPT.test(file) || !MAY_DECORATE.test(code)) return null;
      if (!hasDecorator(this.parse(code))) return null;
      const { transform } = await esbuildFor(file);
      const compiled = await transform(code, {
        loader: 'js',
        target: 'esnext',
        supported: { decorators: false },
        sourcemap: true,
        sourcefile: file,
      });
      return { code: compiled.code, map: compiled.map };
    },
  };
}

function hasDecorator(node: unknown): boolean {
  if (typeof node !== 'object' || node === null) return false;
  if ('type' in node && node.type === 'Decorator') return true;
  return Object.values(node).some(hasDecorator);
}

async function esbuildFor(file: string): Promise<typeof import('esbuild')> {
  try {
    return await import('esbuild');
  } catch (cause) {
    throw new Error(`${file} has decorators, which only esbuild can compile; install esbuild.`, {
      cause,
    });
  }
}
