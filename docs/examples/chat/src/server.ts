// The server, on workerd: /room/NAME is the room of that name.

import type { Room } from './room.ts';

export { Room } from './room.ts';

interface Env {
  readonly ROOM: DurableObjectNamespace<Room>;
}

export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    const [, name] = /^\/room\/([^/]+)$/.exec(pathname) ?? [];
    if (name === undefined) return new Response('Not found', { status: 404 });
    return env.ROOM.getByName(decodeURIComponent(name)).fetch(request);
  },
} satisfies ExportedHandler<Env>;
