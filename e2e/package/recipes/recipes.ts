// The recipes of docs, taken from their text and compiled as a reader would copy them.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { compile, compileModule } from 'svelte/compiler';
import { compileScript, parse } from 'vue/compiler-sfc';
import { REPOSITORY } from '../../browsers/server.ts';

/** The only code block of a document that contains the text. */
export function recipeOf(document: string, text: string): string {
  const markdown = readFileSync(join(REPOSITORY, 'docs', document), 'utf8');
  const blocks = [...markdown.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, , code]) => code!);
  const found = blocks.filter((code) => code.includes(text));
  if (found.length === 1) return found[0]!;
  throw new Error(`${document} has ${found.length} code blocks with ${text}, not one.`);
}

/**
 * Bundles a page that uses examples: `recipe:name.svelte` or `recipe:name.vue` is the example of this name.
 */
export async function bundlePage(
  page: string,
  recipes: Readonly<Record<string, string>>,
): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [page],
    bundle: true,
    format: 'iife',
    target: 'es2023',
    conditions: ['browser'],
    alias: {
      'ctx-storage/svelte': join(REPOSITORY, 'packages/adapters/svelte/index.ts'),
      'ctx-storage/vue': join(REPOSITORY, 'packages/adapters/vue/index.ts'),
    },
    define: { 'process.env.NODE_ENV': '"production"' },
    write: false,
    logLevel: 'error',
    plugins: [recipePlugin(recipes), sveltePlugin],
  });
  return outputFiles[0]!.text;
}

const recipePlugin = (recipes: Readonly<Record<string, string>>): Plugin => ({
  name: 'recipes',
  setup(bundle) {
    bundle.onResolve({ filter: /^recipe:/ }, ({ path }) => ({ path, namespace: 'recipe' }));
    bundle.onLoad({ filter: /./, namespace: 'recipe' }, ({ path }) => {
      const name = path.slice('recipe:'.length);
      const code = recipes[name]!;
      const contents = name.endsWith('.svelte') ? compile(code, {}).js.code : compileVue(code);
      return { contents, loader: 'ts', resolveDir: REPOSITORY };
    });
  },
});

function compileVue(code: string): string {
  const { descriptor } = parse(code);
  return compileScript(descriptor, { id: 'example', inlineTemplate: true }).content;
}

/** Modules with Svelte's runes. */
const sveltePlugin: Plugin = {
  name: 'svelte-modules',
  setup(bundle) {
    bundle.onLoad({ filter: /\.svelte\.js$/, namespace: 'file' }, ({ path }) => ({
      contents: compileModule(readFileSync(path, 'utf8'), { filename: path }).js.code,
    }));
  },
};
