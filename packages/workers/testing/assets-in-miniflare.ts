// Makes folders of assets for tests, and serves them with miniflare.

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Miniflare, type MiniflareOptions } from 'miniflare';

export interface AssetsSettings {
  /** The setting `html_handling`; `notFound` is `not_found_handling`. */
  readonly html: string;
  readonly notFound: string;
  /** If true, the worker asks the binding ASSETS. If false, assets answer before the worker, which answers "worker". */
  readonly isWorkerFirst: boolean;
}

/** Makes a folder with these files. The content of each is its name. */
export function folderOf(files: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'assets-'));
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), `the file ${file}`);
  }
  return folder;
}

/** Sends a request to a worker, and returns redirects instead of following them. */
export type AskWorker = (path: string, method?: string) => Promise<Response>;

/**
 * Starts miniflare with one worker of the folder for each element of `asked`, because a start takes seconds. Requests
 * by routes do not reach assets, so in a list of several, each must have `isWorkerFirst`.
 */
export async function askMiniflare<T>(
  directory: string,
  asked: readonly AssetsSettings[],
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
            `http://${hostNameOf(`w${place}`)}${path}`,
            init,
          )) as never;
        },
    );
    return await ask(workers);
  } finally {
    await miniflare.dispose();
  }
}

const hostNameOf = (name: string) => `${name}.localhost`;

function workerOf(
  directory: string,
  { html, notFound, isWorkerFirst }: AssetsSettings,
  name: string,
) {
  return {
    name,
    ...(isWorkerFirst && { routes: [`${hostNameOf(name)}/*`] }),
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
