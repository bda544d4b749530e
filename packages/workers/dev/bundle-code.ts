// Bundles a project's worker for Node, again after each change of its files.
//
// Invariant: the code and the host share one module of base classes. The bundle is a file of its own each time, because
// Node loads a module once.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { type KindOf, moduleOfFile } from '@ctx-storage/vite/project';
import type { BuildResult, Plugin } from 'esbuild';
import type { LoadedCode } from './app-options.ts';

export interface CodeFiles {
  /** The path of the Worker's main module; undefined if the project only has assets. */
  readonly main: string | undefined;
  /** The module with the user's own members of `env`. */
  readonly given: string | undefined;
  /** The folder in which the bundles are written. */
  readonly folder: string;
  /** Returns the address from which Node imports a module of this package. */
  readonly addressOf: (specifier: string) => string;
  /** Maps names in the code to the expressions that replace them. */
  readonly define: Readonly<Record<string, string>>;
  /** Maps names of modules to the names of other modules, or to paths of files. */
  readonly alias: Readonly<Record<string, string>>;
  /** Decides which files are modules of a kind other than code. */
  readonly kindOf: KindOf;
}

/** A build, or the reason why there is none. */
export type Built =
  /**
   * A successful build. `load` evaluates the main module after `provide` has received the user's own members of `env`.
   *
   * @throws Error with the place in the project's files
   */
  | {
      readonly kind: 'code';
      load(provide: (given: LoadedCode['given']) => void): Promise<LoadedCode>;
    }
  | { readonly kind: 'failure'; readonly message: string };

/** The exports of a bundle: those of the main module, or the function that evaluates it. */
interface Bundle extends Partial<LoadedCode> {
  readonly load?: () => Promise<LoadedCode['main']>;
}

const PLATFORM_MODULE = /^(?:cloudflare:.*|ctx-storage\/worker)$/;

/** Maps workerd's modules to the modules of this package that replace them. */
const MODULES: ReadonlyMap<string, string> = new Map([
  ['cloudflare:workers', 'ctx-storage/worker'],
  ['ctx-storage/worker', 'ctx-storage/worker'],
  ['cloudflare:email', 'ctx-storage/worker/cloudflare-email'],
]);

/** Marks stack frames of Node and of this program, which say nothing about a mistake in a project. */
const LOADER = ['(node:internal/', ' node:internal/', new URL('.', import.meta.url).href];

/** Calls back with each build, including the first one. The returned function stops watching. */
export async function bundleCode(
  files: CodeFiles,
  built: (result: Built) => void,
): Promise<() => Promise<void>> {
  const { context } = await import('esbuild').catch((cause: unknown) => {
    throw new Error('dev needs esbuild: npm install -D esbuild', { cause });
  });
  const { main, given, folder, addressOf, kindOf, define, alias } = files;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  let count = 0;
  const told: Plugin = {
    name: 'ctx-storage:dev',
    setup(build) {
      build.onResolve({ filter: PLATFORM_MODULE }, ({ path, kind }) => {
        const own = MODULES.get(path);
        if (own !== undefined) return { path: addressOf(own), external: true };
        // A library may import the module dynamically to find out whether it exists.
        if (kind === 'dynamic-import') return { path, external: true };
        const names = [...MODULES.keys()].filter((name) => name.startsWith('cloudflare:'));
        return { errors: [{ text: `${path} does not exist here; ${names.join(' and ')} do.` }] };
      });
      build.onLoad({ filter: /./ }, ({ path }) => {
        const kind = kindOf(path);
        return kind && { contents: moduleOfFile(kind, path), loader: 'js' };
      });
      build.onEnd((result) => {
        count += 1;
        built(resultOf(result, join(folder, `worker-${count}.mjs`)));
      });
    },
  };
  const building = await context({
    stdin: {
      contents: entryOf(main, given),
      resolveDir: process.cwd(),
    },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    conditions: ['workerd', 'worker'],
    mainFields: ['module', 'main'],
    define: { 'process.env.NODE_ENV': '"development"', ...define },
    alias: { ...alias },
    // Bundled CommonJS modules use `require` for Node's modules.
    banner: {
      js: "import { createRequire as requireOf$ } from 'node:module'; const require = requireOf$(import.meta.url);",
    },
    sourcemap: 'inline',
    write: false,
    outdir: folder,
    logLevel: 'silent',
    plugins: [told],
  });
  await building.watch();
  return () => building.dispose();
}

/**
 * Generates the entry of a bundle. The entry exports the main module, or a function that evaluates the main module once
 * the given members were provided.
 */
function entryOf(main: string | undefined, given: string | undefined): string {
  const file = JSON.stringify(main);
  if (given === undefined) {
    return main === undefined ? 'export const main = {};' : `export * as main from ${file};`;
  }
  // A dynamic import evaluates its module when the import runs, even if the module is in the same bundle.
  const load = main === undefined ? 'async () => ({})' : `() => import(${file})`;
  return `export { default as given } from ${JSON.stringify(given)}; export const load = ${load};`;
}

function resultOf({ errors, outputFiles = [] }: BuildResult, file: string): Built {
  const [error] = errors;
  if (error !== undefined) {
    const { location, text } = error;
    const place = location && `${location.file}:${location.line}:${location.column + 1}: `;
    return { kind: 'failure', message: `${place ?? ''}${text}` };
  }
  return {
    kind: 'code',
    load: async (provide) => {
      writeFileSync(file, outputFiles[0]!.contents);
      try {
        const { main, given = {}, load } = (await import(pathToFileURL(file).href)) as Bundle;
        provide(given);
        return { given, main: main ?? (await load!()) };
      } catch (error) {
        throw mistake(placesOf(error), error);
      }
    },
  };
}

/** Makes the error of a mistake in the project's code. The error hides the place where it was made. */
export function mistake(message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { stack: message });
}

/** Returns the text of the error and its causes, with the lines of the project that led to them. */
function placesOf(error: unknown): string {
  if (!(error instanceof Error)) return `The code threw ${inspect(error)} while it was loaded.`;
  const { stack = error.message, cause } = error;
  const lines = stack.split('\n').filter((line) => !LOADER.some((place) => line.includes(place)));
  if (cause !== undefined) lines.push(`Caused by: ${placesOf(cause)}`);
  return lines.join('\n');
}
