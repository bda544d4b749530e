// A module of classes that take their bases, run by workerd.

import { build } from 'esbuild';
import { Miniflare } from 'miniflare';

/** A class of this folder: the function that makes it, and the one that asks it everything. */
export interface Asked {
  readonly module: string;
  readonly className: string;
  readonly make: string;
  readonly ask: string;
}

/** What it is asked is given a namespace of the class. */
export async function askInWorkerd(asked: Asked): Promise<Record<string, unknown>> {
  const { module, className, make, ask } = asked;
  const contents = `
    import * as bases from 'cloudflare:workers';
    import { ${ask}, ${make} } from './${module}';
    export const ${className} = ${make}(bases);
    export default {
      async fetch(_request, env) {
        return Response.json(await ${ask}(env.${className}));
      },
    };`;
  const bundle = await build({
    bundle: true,
    write: false,
    format: 'esm',
    stdin: { contents, resolveDir: import.meta.dirname, loader: 'ts' },
    external: ['cloudflare:workers'],
  });
  const miniflare = new Miniflare({
    modules: true,
    script: bundle.outputFiles[0]!.text,
    compatibilityDate: '2026-07-01',
    durableObjects: { [className]: { className, useSQLite: true } },
  });
  try {
    const response = await miniflare.dispatchFetch('http://workerd/');
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()) as Record<string, unknown>;
  } finally {
    await miniflare.dispose();
  }
}
