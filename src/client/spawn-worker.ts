// Starts the worker that comes with this package. The expression is spelled out here because
// bundlers recognise exactly this form; the package build rewrites the address.

export function spawnWorker(): Worker {
  return new Worker(new URL('../../worker/entries/storage-worker.ts', import.meta.url), {
    type: 'module',
  });
}
