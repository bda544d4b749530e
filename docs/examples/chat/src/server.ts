// The server, on workerd: /room/NAME is the room of that name. Who has signed in may enter all of them.

import { AUTHOR_HEADER } from './message.ts';
import type { Room } from './room.ts';
import { type AccountsEnv, answerSignIn, isFromOwnPage, sessionOf } from './sessions.ts';

export { Account } from './account.ts';
export { Room } from './room.ts';

export interface Env extends AccountsEnv {
  readonly ROOM: DurableObjectNamespace<Room>;
}

export default {
  async fetch(request, env) {
    const answer = await answerSignIn(request, env);
    if (answer !== null) return answer;
    const { pathname } = new URL(request.url);
    const [, name] = /^\/room\/([^/]+)$/.exec(pathname) ?? [];
    if (name === undefined) return new Response('Not found', { status: 404 });
    // Replaces what the sender of the request has set.
    const headers = new Headers(request.headers);
    headers.delete(AUTHOR_HEADER);
    // A page of another origin could use the cookie of its visitor.
    const session = isFromOwnPage(request) ? await sessionOf(request, env) : null;
    if (session !== null) headers.set(AUTHOR_HEADER, session.identity);
    return env.ROOM.getByName(decodeURIComponent(name)).fetch(new Request(request, { headers }));
  },
} satisfies ExportedHandler<Env>;
