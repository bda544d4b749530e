// The same classes in real workerd.

import type { Miniflare } from 'miniflare';
import { startInWorkerd } from '../workerd.ts';

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

export function startWorkerd(): Promise<Miniflare> {
  return startInWorkerd({
    main: MAIN,
    folder: import.meta.dirname,
    name: 'libraries',
    classes: { Library: 'Library', Bases: 'Bases', Party: 'Party' },
    compatibilityDate: '2026-01-30',
    bundling: { loader: { '.sql': 'text' }, conditions: ['workerd', 'worker', 'browser'] },
  });
}
