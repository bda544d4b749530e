// Who has signed in on this device: the page signs in and out, and its worker asks, also without a network. Only the server
// can tell whether the session has ended.

/** The name is not secret. It is in the Cache API, which pages and workers can read. */
const KEY = '/user';
const opened = () => caches.open('user');

export async function userName(): Promise<string | undefined> {
  return (await (await opened()).match(KEY))?.text();
}

/** @throws Error if the server refuses, or does not answer */
export async function signIn(name: string, password: string): Promise<void> {
  await post('/sign-in', { name, password });
  await (await opened()).put(KEY, new Response(name));
}

/**
 * Ends the session, runs `removeData` while its user is still known, and then forgets who it was.
 *
 * @throws Error if the server does not answer: the session would go on
 */
export async function signOut(removeData?: () => Promise<unknown>): Promise<void> {
  await post('/sign-out', null);
  await removeData?.();
  await (await opened()).delete(KEY);
}

async function post(path: string, content: unknown): Promise<void> {
  const response = await fetch(path, { method: 'POST', body: JSON.stringify(content) });
  if (!response.ok) throw new Error(await response.text());
}
