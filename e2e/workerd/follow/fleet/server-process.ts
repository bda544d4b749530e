// A process that serves the object in Node, with the server of `ctx-storage dev`. It sends its address to its parent.

import { serveHttp } from '../../../../packages/workers/dev/http-server.ts';
import { startApp } from '../../../../packages/workers/dev/node-dev-host.ts';
import { DurableObject } from '../../../../worker/realm/library/base-classes.ts';
import { answer, followedFleetRoom } from './fleet-room.ts';

const [directory] = process.argv.slice(2) as [string];

interface Env {
  readonly Room: { getByName(name: string): Parameters<typeof answer>[1] };
}

const app = await startApp({ Room: followedFleetRoom(DurableObject as never) }, {
  directory,
  exports: {
    default: {
      fetch: (request: Request, env: Env) =>
        answer(request, env.Room.getByName(new URL(request.url).pathname.slice(1))),
    },
  },
} as never);
const { address } = await serveHttp({
  port: 0,
  host: '127.0.0.1',
  closeMs: 0,
  app: async () => app,
  report: (error) => console.error('The worker failed:', error),
  scripts: '',
  assets: undefined,
});
process.on('disconnect', () => process.exit());
process.send!({ address });
