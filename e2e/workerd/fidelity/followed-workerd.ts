// The published classes on workerd, made followable.

import { fileURLToPath } from 'node:url';
import { connectionsOf } from '../../../packages/follow/testing/followed-server.ts';
import { ANSWER, callsBy } from '../follow/rooms.ts';
import { startInWorkerd } from '../workerd.ts';
import { BUNDLING, FOLLOWED_CLASSES, type FollowedClass } from './followed-classes.ts';
import type { Dump } from './followed-dump.ts';
import type { ScenarioServer } from './followed-scenario.ts';

/** Each class is followable as it is; what the test adds is a class around the followable one. */
const MAIN = `
  import { Server } from 'partyserver';
  import { followable } from '../../../packages/follow/server/index.ts';
  import * as libraries from '../libraries/classes.ts';
  import { dumpOf } from './followed-dump.ts';
  import { partyOf } from './followed-party.ts';

  const classes = { ...libraries, NotesParty: partyOf(Server) };
  const followed = (name, methods) =>
    class extends followable(classes[name], { authorize: () => 'someone', methods, version: 1 }) {
      _dump() {
        return dumpOf(this.ctx.storage);
      }
      _end() {
        this.ctx.abort('ended by the test');
      }
    };
  ${ANSWER}
  export default {
    fetch: (request, env) =>
      answer(env[new URL(request.url).pathname.slice(1)].getByName('a'), request),
  };`;

export interface ClassesInWorkerd {
  server(one: FollowedClass): ScenarioServer;
  close(): Promise<void>;
}

export async function serveClassesInWorkerd(): Promise<ClassesInWorkerd> {
  const exported = FOLLOWED_CLASSES.map(
    ({ className, methods }) =>
      `export const ${className} = followed('${className}', ${JSON.stringify(methods)});`,
  );
  const miniflare = await startInWorkerd({
    main: [MAIN, ...exported].join('\n'),
    folder: fileURLToPath(new URL('.', import.meta.url)),
    name: 'followed',
    classes: Object.fromEntries(FOLLOWED_CLASSES.map(({ className }) => [className, className])),
    compatibilityDate: '2026-07-30',
    compatibilityFlags: ['nodejs_compat'],
    isSilent: true,
    bundling: {
      ...BUNDLING,
      loader: { '.sql': 'text' },
      external: ['cloudflare:*', 'node:*', 'path'],
    },
  });
  return {
    server({ className }) {
      const url = `http://followed/${className}`;
      const call = callsBy(miniflare, url);
      return Object.assign(
        connectionsOf((headers) => miniflare.dispatchFetch(url, { headers })),
        {
          call,
          restart: () =>
            call('_end').then(
              () => {},
              () => {},
            ),
          dump: () => call('_dump') as Promise<Dump>,
        },
      );
    },
    close: () => miniflare.dispose(),
  };
}
