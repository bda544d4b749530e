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

/** Asks the worker of a folder, by its origin. */
export async function askMiniflare<T>(
  directory: string,
  { html, notFound, isWorkerFirst }: AssetsAsked,
  ask: (origin: string) => Promise<T>,
): Promise<T> {
  const miniflare = new Miniflare({
    modules: true,
    script: isWorkerFirst
      ? 'export default { fetch: (request, env) => env.ASSETS.fetch(request) }'
      : 'export default { fetch: () => new Response("worker") }',
    compatibilityDate: '2026-07-01',
    name: 'w',
    assets: {
      directory,
      binding: 'ASSETS',
      workerName: 'w',
      routerConfig: { has_user_worker: true, invoke_user_worker_ahead_of_assets: isWorkerFirst },
      assetConfig: { html_handling: html, not_found_handling: notFound },
    },
  } as MiniflareOptions);
  try {
    return await ask((await miniflare.ready).origin);
  } finally {
    await miniflare.dispose();
  }
}
