// Runs the classes in workerd.

import type { Miniflare } from 'miniflare';
import { startInWorkerd } from '../workerd.ts';
import { PEOPLE, PROGRAMS, SHELF, STORES } from './programs.ts';

const MAIN = `
  export * from './classes.ts';
  export default {
    async fetch(request, env) {
      const { pathname } = new URL(request.url);
      const [, className, name] = pathname.split('/');
      const stub = env[className].getByName(name);
      if (name === 'between') return Response.json(await stub.between());
      return name === 'room' ? stub.fetch(request) : Response.json(await stub.run());
    },
  };`;

export function startWorkerd(): Promise<Miniflare> {
  return startInWorkerd({
    main: MAIN,
    folder: import.meta.dirname,
    name: 'libraries',
    classes: Object.fromEntries(
      [...PROGRAMS, PEOPLE, SHELF, STORES].map(({ className }) => [className, className]),
    ),
    compatibilityDate: '2026-01-30',
    isSilent: true, // agents prints the errors that its clients ask for
    compatibilityFlags: ['nodejs_compat'],
    bundling: {
      target: 'es2022',
      loader: { '.sql': 'text' },
      conditions: ['workerd', 'worker', 'browser'],
      external: ['cloudflare:*', 'node:*', 'path'],
      // CommonJS modules require Node's modules, as wrangler bundles them.
      banner: {
        js: "import { createRequire } from 'node:module'; const require = createRequire('/');",
      },
    },
  });
}
