// The server's answers to the sign-in form, and who has sent a request: the cookie of a session says it. No page can read
// the cookie, and only pages of this server send it.

import { type Account, SESSION_MS } from './account.ts';

export interface AccountsEnv {
  readonly ACCOUNT: {
    getByName(name: string): Pick<Account, 'signIn' | 'sessionEnd' | 'signOut'>;
  };
}

/** A name is part of addresses and of the cookie, and two names must not look the same. */
const NAME = /^[a-z0-9_-]{1,32}$/;
const COOKIE = /(?:^|; )session=([a-z0-9_-]{1,32})\.([0-9a-f]{64})(?:;|$)/;
const RULES =
  'A name has 1 to 32 of the characters a to z, 0 to 9, - and _; a password has 8 to 200 characters.';
const REFUSED = 'The password is wrong, or too many were tried: try again in a minute.';

/** Returns who has signed in, and until when; null for nobody. */
export async function sessionOf(
  request: Request,
  env: AccountsEnv,
): Promise<{ identity: string; expiresAt: number } | null> {
  const [, identity, token] = cookieOf(request);
  if (identity === undefined) return null;
  const expiresAt = await env.ACCOUNT.getByName(identity).sessionEnd(token!);
  return expiresAt === null ? null : { identity, expiresAt };
}

/** Answers `POST /sign-in` and `POST /sign-out`; null for other requests. */
export async function answerSignIn(request: Request, env: AccountsEnv): Promise<Response | null> {
  const { pathname, protocol } = new URL(request.url);
  const isOut = pathname === '/sign-out';
  if (request.method !== 'POST' || !(isOut || pathname === '/sign-in')) return null;
  // Otherwise another page could sign its visitors in here, as somebody else.
  if (!isFromOwnPage(request)) return new Response('Sign in on the page.', { status: 403 });
  const cookie = (value: string, ageMs: number) => {
    const isSecure = protocol === 'https:' ? '; Secure' : '';
    const attributes = `HttpOnly; SameSite=Strict; Path=/; Max-Age=${ageMs / 1000}${isSecure}`;
    return { headers: { 'Set-Cookie': `session=${value}; ${attributes}` }, status: 204 };
  };
  if (isOut) {
    const [, identity, token] = cookieOf(request);
    if (identity !== undefined) await env.ACCOUNT.getByName(identity).signOut(token!);
    return new Response(null, cookie('', 0));
  }
  const { name, password } = Object(await request.json().catch(() => null));
  if (!isName(name) || !isPassword(password)) return new Response(RULES, { status: 400 });
  const token = await env.ACCOUNT.getByName(name).signIn(password);
  if (token === null) return new Response(REFUSED, { status: 401 });
  return new Response(null, cookie(`${name}.${token}`, SESSION_MS));
}

/** Browsers tell from which page a request is; no page can change it. */
export function isFromOwnPage(request: Request): boolean {
  const host = request.headers.get('Host') ?? new URL(request.url).host;
  const origin = request.headers.get('Origin');
  return origin === `https://${host}` || origin === `http://${host}`;
}

function cookieOf(request: Request): readonly (string | undefined)[] {
  return COOKIE.exec(request.headers.get('Cookie') ?? '') ?? [];
}

function isName(given: unknown): given is string {
  return typeof given === 'string' && NAME.test(given);
}

function isPassword(given: unknown): given is string {
  return typeof given === 'string' && given.length >= 8 && given.length <= 200;
}
