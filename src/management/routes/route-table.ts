// Which route a method and path lead to, by Hono's router.
//
// Paths that exist with other methods are told apart from paths that do not exist. The route added
// first wins, so fixed segments come before parameters.

import { TrieRouter } from 'hono/router/trie-router';
import { METHODS, type Method } from '../call/call.ts';

export type Matched<T> =
  | { readonly kind: 'route'; readonly route: T; readonly params: Readonly<Record<string, string>> }
  | { readonly kind: 'wrong method'; readonly allow: readonly Method[] }
  | { readonly kind: 'unknown' };

export class RouteTable<T> {
  readonly #router = new TrieRouter<T>();

  add(method: Method, path: string, route: T): this {
    this.#router.add(method, path, route);
    return this;
  }

  match(method: Method, path: string): Matched<T> {
    const found = this.#find(method, path);
    if (found !== undefined) return { kind: 'route', route: found[0], params: found[1] };
    const allow = METHODS.filter((other) => this.#find(other, path) !== undefined);
    return allow.length > 0 ? { kind: 'wrong method', allow } : { kind: 'unknown' };
  }

  #find(method: Method, path: string): [T, Record<string, string>] | undefined {
    // This router gives names with values; routers that give positions have a second member.
    const [[first]] = this.#router.match(method, path) as [[T, Record<string, string>][]];
    return first;
  }
}

/** `GET /zones/:zone_id` in its two parts. */
export function operationOf(text: string): { readonly method: Method; readonly path: string } {
  const [method, path] = text.split(' ') as [Method, string];
  return { method, path };
}
