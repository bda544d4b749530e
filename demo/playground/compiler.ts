// The compiler's worker, which starts with the first use.

import { type Remote, wrap } from 'comlink';
import type { CompileApi, Compiled } from './compile-worker.ts';

let api: Remote<CompileApi> | undefined;

export function compile(files: Readonly<Record<string, string>>): Promise<Compiled> {
  api ??= wrap<CompileApi>(
    new Worker(new URL('./compile-worker.ts', import.meta.url), { type: 'module' }),
  );
  return api.compile(files);
}
