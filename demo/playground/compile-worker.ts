// Compiles TypeScript to JavaScript in a worker. Types are replaced by spaces, so lines stay the same.

import { expose } from 'comlink';
import { transform } from 'sucrase';

/** A mistake in a file. Lines count from 1, columns from 0. */
export interface Mistake {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

export interface Compiled {
  readonly files: Record<string, string>;
  readonly mistakes: readonly Mistake[];
}

function compile(files: Readonly<Record<string, string>>): Compiled {
  const compiled: Record<string, string> = {};
  const mistakes: Mistake[] = [];
  for (const [path, text] of Object.entries(files)) {
    try {
      compiled[path] = transform(text, {
        transforms: ['typescript'],
        disableESTransforms: true,
        filePath: path,
      }).code;
    } catch (error) {
      const { message, loc } = error as Error & { loc?: { line: number; column: number } };
      const fact = message.replace(/^.*?: /, '').replace(/ \(\d+:\d+\)$/, '');
      mistakes.push({ path, line: loc?.line ?? 1, column: loc?.column ?? 0, message: fact });
    }
  }
  return { files: compiled, mistakes };
}

const api = { compile };
export type CompileApi = typeof api;

expose(api);
