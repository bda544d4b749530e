// A script bundled as it is written, and run by workerd.

import type { Readable } from 'node:stream';
import { type BuildOptions, build } from 'esbuild';
import { Miniflare } from 'miniflare';

export interface Script {
  /** The text of its main module; it imports from `folder`. */
  readonly main: string;
  readonly folder: string;
  /** The classes it exports, on SQLite, by the names they are bound to. */
  readonly classes: Readonly<Record<string, string>>;
  readonly name?: string;
  readonly compatibilityDate: string;
  readonly compatibilityFlags?: readonly string[];
  readonly variables?: Readonly<Record<string, number>>;
  /** workerd does not print the errors it meets: the script provokes them. */
  readonly isSilent?: boolean;
  readonly bundling?: Pick<
    BuildOptions,
    'loader' | 'conditions' | 'banner' | 'external' | 'target'
  >;
}

export async function startInWorkerd(script: Script): Promise<Miniflare> {
  const { main, folder, classes, name, compatibilityDate, variables, isSilent, bundling } = script;
  const { compatibilityFlags = [] } = script;
  const bundle = await build({
    bundle: true,
    write: false,
    format: 'esm',
    stdin: { contents: main, resolveDir: folder, loader: 'ts' },
    external: ['cloudflare:*', 'node:*'],
    logLevel: 'warning',
    ...bundling,
  });
  const miniflare = new Miniflare({
    ...(name !== undefined && { name }),
    modules: true,
    script: bundle.outputFiles[0]!.text,
    compatibilityDate,
    compatibilityFlags: [...compatibilityFlags],
    ...(variables && { bindings: variables }),
    ...(isSilent && { handleRuntimeStdio: drain }),
    durableObjects: Object.fromEntries(
      Object.entries(classes).map(([binding, className]) => [
        binding,
        { className, useSQLite: true },
      ]),
    ),
  });
  await miniflare.ready;
  return miniflare;
}

function drain(...outputs: Readable[]): void {
  for (const output of outputs) output.resume();
}

/** The script's answer to a request, as JSON. */
export async function askWorkerd(script: Script): Promise<unknown> {
  const miniflare = await startInWorkerd(script);
  try {
    const response = await miniflare.dispatchFetch('http://workerd/');
    if (!response.ok) throw new Error(await response.text());
    return await response.json();
  } finally {
    await miniflare.dispose();
  }
}
