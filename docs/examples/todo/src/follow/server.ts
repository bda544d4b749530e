// The server, in Node and on workerd: /list/NAME is the list of the person with that name, who alone may follow it.

import { followable } from 'ctx-storage/followable';
import { type AccountsEnv, answerSignIn, sessionOf } from './sessions.ts';
import { TodoObject as TodoClass } from './todo-object.ts';

export { Account } from './account.ts';

export const TodoObject = followable(TodoClass, {
  authorize: async (request, { env }) => {
    const session = await sessionOf(request, env as Env);
    return session?.identity === ownerOf(request) ? session : null;
  },
  methods: ['all', 'add', 'setDone', 'remove'],
  version: 1,
});

interface Env extends AccountsEnv {
  readonly TODO: { getByName(name: string): { fetch(request: Request): Promise<Response> } };
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const answer = await answerSignIn(request, env);
    if (answer !== null) return answer;
    const name = ownerOf(request);
    if (name === undefined) return new Response('Not found', { status: 404 });
    return env.TODO.getByName(name).fetch(request);
  },
};

function ownerOf(request: Request): string | undefined {
  return /^\/list\/([a-z0-9_-]{1,32})$/.exec(new URL(request.url).pathname)?.[1];
}
