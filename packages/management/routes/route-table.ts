// Finds the route of a method and path. If several match, the most exact shape wins.
//
// It tells paths that exist with other methods apart from paths that do not exist.

import { METHODS, type Method } from '../call/call.ts';
import { mostExact, segmentsOf } from '../schedule/paths.ts';

export type Matched<T> =
  | { readonly kind: 'route'; readonly route: T; readonly params: Readonly<Record<string, string>> }
  | { readonly kind: 'wrong method'; readonly allow: readonly Method[] }
  | { readonly kind: 'unknown' };

interface Row<T> {
  readonly shape: readonly string[];
  readonly route: T;
}

export class RouteTable<T> {
  readonly #rows = new Map<Method, Row<T>[]>(METHODS.map((method) => [method, []]));

  add(method: Method, path: string, route: T): this {
    this.#rows.get(method)!.push({ shape: segmentsOf(path), route });
    return this;
  }

  match(method: Method, path: string): Matched<T> {
    const segments = segmentsOf(path);
    const found = this.#find(method, segments);
    if (found) return { kind: 'route', route: found.candidate.route, params: found.match.params };
    const allow = METHODS.filter((other) => this.#find(other, segments) !== undefined);
    return allow.length > 0 ? { kind: 'wrong method', allow } : { kind: 'unknown' };
  }

  /**
   * Finds the best route. Returns undefined also if the method is not in `METHODS`, because requests may have any
   * method.
   */
  #find(method: Method, segments: readonly string[]) {
    return mostExact(this.#rows.get(method) ?? [], ({ shape }) => shape, segments);
  }
}

/** Splits an operation such as `GET /zones/:zone_id` into method and path. */
export function operationOf(text: string): { readonly method: Method; readonly path: string } {
  const [method, path] = text.split(' ') as [Method, string];
  return { method, path };
}
