// Compiles code in a worker that starts with the first use. An aborted compilation ends the worker, because code can
// keep a compiler busy without end; the next use starts another one.

import { type Remote, wrap } from 'comlink';
import type { CompileApi, Compiled } from './compile-worker.ts';

interface Compiler {
  readonly worker: Worker;
  readonly api: Remote<CompileApi>;
}

let compiler: Compiler | undefined;

/** @throws the signal's reason, at once when it aborts */
export async function compile(
  files: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Compiled> {
  compiler ??= start();
  const { worker, api } = compiler;
  return new Promise((done, fail) => {
    const giveUp = () => {
      worker.terminate();
      compiler = undefined;
      fail(signal.reason);
    };
    signal.addEventListener('abort', giveUp, { once: true });
    const over = () => signal.removeEventListener('abort', giveUp);
    api.compile(files).finally(over).then(done, fail);
  });
}

function start(): Compiler {
  const worker = new Worker(new URL('./compile-worker.ts', import.meta.url), { type: 'module' });
  return { worker, api: wrap<CompileApi>(worker) };
}
