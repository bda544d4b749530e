// The same classes in real workerd.

import { join } from 'node:path';
import { build } from 'esbuild';
import { Miniflare } from 'miniflare';

const MAIN = `
  export * from './classes.ts';
  export default {
    async fetch(request, env) {
      const { pathname } = new URL(request.url);
      const [, className, name] = pathname.split('/');
      const stub = env[className].getByName(name);
      if (className === 'Party') return stub.fetch(request);
      return Response.json(await stub.run());
    },
  };`;

export async function startWorkerd(): Promise<Miniflare> {
  const bundle = await build({
    bundle: true,
    write: false,
    format: 'esm',
    stdin: { contents: MAIN, resolveDir: join(import.meta.dirname), loader: 'ts' },
    loader: { '.sql': 'text' },
    external: ['cloudflare:workers'],
    conditions: ['workerd', 'worker', 'browser'],
    logLevel: 'warning',
  });
  const miniflare = new Miniflare({
    name: 'libraries',
    modules: true,
    script: bundle.outputFiles[0]!.text,
    compatibilityDate: '2026-01-30',
    durableObjects: Object.fromEntries(
      ['Library', 'Bases', 'Party'].map((className) => [className, { className, useSQLite: true }]),
    ),
  });
  await miniflare.ready;
  return miniflare;
}
