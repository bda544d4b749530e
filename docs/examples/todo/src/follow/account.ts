// The account of one person, on the server only: a password and the sessions that it has begun. The object has the
// person's name. The first password that is given for a name becomes the account's.
//
// Stored are a salted, slow digest of the password and digests of the sessions' tokens, so nobody can sign in with what the
// database has.

import { DurableObject } from 'cloudflare:workers';

export const SESSION_MS = 30 * 24 * 60 * 60 * 1000;
const SESSIONS_MAX = 20;
/** So many passwords may be tried within `ATTEMPTS_MS`. */
const ATTEMPTS_MAX = 10;
const ATTEMPTS_MS = 60_000;
/** The most that workerd allows. */
const PASSWORD_ROUNDS = 100_000;

interface Password {
  readonly salt: Uint8Array<ArrayBuffer>;
  readonly digest: Uint8Array<ArrayBuffer>;
}

export class Account extends DurableObject {
  /** Begins a session, and returns its token; null if the password is wrong, or too many were tried. */
  async signIn(password: string): Promise<string | null> {
    const { kv } = this.ctx.storage;
    const now = Date.now();
    const attempts = (kv.get<number[]>('attempts') ?? []).filter((at) => at > now - ATTEMPTS_MS);
    if (attempts.length >= ATTEMPTS_MAX) return null;
    // Stored before anything is awaited, so that attempts at the same time are counted, too.
    kv.put('attempts', [...attempts, now]);
    const { salt } = kv.get<Password>('password') ?? { salt: randomBytes(16) };
    const digest = await digestOfPassword(password, salt);
    // Read again: another first attempt may have set the password meanwhile, with another salt.
    const stored = kv.get<Password>('password');
    if (stored === undefined) kv.put('password', { salt, digest });
    else if (!isEqual(stored.digest, digest)) return null;
    const token = hexOf(randomBytes(32));
    const sessions = [...this.#sessions(now), [await digestOfToken(token), now + SESSION_MS]];
    kv.put('sessions', sessions.slice(-SESSIONS_MAX));
    kv.delete('attempts');
    return token;
  }

  /** Returns when the session with this token ends, in milliseconds; null if there is none. */
  async sessionEnd(token: string): Promise<number | null> {
    const digest = await digestOfToken(token);
    return new Map(this.#sessions(Date.now())).get(digest) ?? null;
  }

  async signOut(token: string): Promise<void> {
    const digest = await digestOfToken(token);
    const others = this.#sessions(Date.now()).filter(([other]) => other !== digest);
    this.ctx.storage.kv.put('sessions', others);
  }

  /** The digests of the sessions' tokens, each with the end of its session; the oldest first. */
  #sessions(now: number): [string, number][] {
    const sessions = this.ctx.storage.kv.get<[string, number][]>('sessions') ?? [];
    return sessions.filter(([, endsAt]) => endsAt > now);
  }
}

function randomBytes(length: number): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(length));
}

async function digestOfPassword(password: string, salt: Uint8Array<ArrayBuffer>) {
  const bytes = new TextEncoder().encode(password);
  const key = await crypto.subtle.importKey('raw', bytes, 'PBKDF2', false, ['deriveBits']);
  const slowly = { name: 'PBKDF2', hash: 'SHA-512', salt, iterations: PASSWORD_ROUNDS };
  return new Uint8Array(await crypto.subtle.deriveBits(slowly, key, 256));
}

/** A token is random and long, so its digest need not be slow. */
async function digestOfToken(token: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token));
  return hexOf(new Uint8Array(digest));
}

/** Takes the same time wherever the bytes differ, so that the time tells nothing about them. */
function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  let difference = one.length ^ other.length;
  for (let i = 0; i < one.length; i++) difference |= one[i]! ^ (other[i] ?? 0);
  return difference === 0;
}

function hexOf(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
