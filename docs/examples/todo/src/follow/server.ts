// The server, in Node and on workerd: /list/NAME is the list of that name.

import { followable } from 'ctx-storage/followable';
import { TodoObject as TodoClass } from './todo-object.ts';

export const TodoObject = followable(TodoClass, {
  // Anybody may read and change the list. With accounts: who it is, from a cookie, or null.
  authorize: () => 'anybody',
  methods: ['all', 'add', 'setDone', 'remove'],
  version: 1,
});

interface Env {
  readonly TODO: { getByName(name: string): { fetch(request: Request): Promise<Response> } };
}

export default {
  fetch(request: Request, env: Env): Promise<Response> | Response {
    const [, name] = /^\/list\/([^/]+)$/.exec(new URL(request.url).pathname) ?? [];
    if (name === undefined) return new Response('Not found', { status: 404 });
    return env.TODO.getByName(name).fetch(request);
  },
};
