// For tests: a folder of assets, and miniflare that serves it.

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Miniflare, type MiniflareOptions } from 'miniflare';

export interface AssetsAsked {
  /** `html_handling` and `not_found_handling`. */
  readonly html: string;
  readonly notFound: string;
  /** True: its worker asks the binding. False: assets answer before the worker, which answers "worker". */
  readonly isWorkerFirst: boolean;
}

/** A new folder with these files; each tells its name. */
export function folderOf(files: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'assets-'));
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), `the file ${file}`);
  }
  return folder;
}

/** Asks a worker, and follows no redirect. */
export type AskWorker = (path: string, method?: string) => Promise<Response>;

/**
 * One process has a worker of the folder for each of `asked`, because its start takes seconds. Routes pass by the assets,
 * so of several, each asks the binding.
 */
export async function askMiniflare<T>(
  directory: string,
  asked: readonly AssetsAsked[],
  ask: (workers: readonly AskWorker[]) => Promise<T>,
): Promise<T> {
  const miniflare = new Miniflare({
    workers: asked.map((each, place) => workerOf(directory, each, `w${place}`)),
  } as MiniflareOptions);
  try {
    await miniflare.ready;
    const workers = asked.map(
      (_, place): AskWorker =>
        async (path, method = 'GET') => {
          const init = { method, redirect: 'manual' } as const;
          return (await miniflare.dispatchFetch(
            `http://${hostOf(`w${place}`)}${path}`,
            init,
          )) as never;
        },
    );
    return await ask(workers);
  } finally {
    await miniflare.dispose();
  }
}

const hostOf = (name: string) => `${name}.localhost`;

function workerOf(directory: string, { html, notFound, isWorkerFirst }: AssetsAsked, name: string) {
  return {
    name,
    ...(isWorkerFirst && { routes: [`${hostOf(name)}/*`] }),
    modules: true,
    script: isWorkerFirst
      ? 'export default { fetch: (request, env) => env.ASSETS.fetch(request) }'
      : 'export default { fetch: () => new Response("worker") }',
    compatibilityDate: '2026-07-01',
    assets: {
      directory,
      binding: 'ASSETS',
      workerName: name,
      routerConfig: { has_user_worker: true, invoke_user_worker_ahead_of_assets: isWorkerFirst },
      assetConfig: { html_handling: html, not_found_handling: notFound },
    },
  };
}
