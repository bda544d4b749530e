// The provider's word in the types of nameservers: `provider.standard` here, the provider's own name in
// clients written for it. Stored and checked is `provider`; the word is changed at the edge.

import { matchPath } from '../schedule/paths.ts';

const KEYS = new Set(['type', 'default_nameservers']);
const SHAPES = [
  '/accounts',
  '/accounts/:account_id',
  '/accounts/:account_id/dns_settings',
  '/zones/:zone_id/dns_settings',
];
export const NEUTRAL_WORD = 'provider';
/** What clients written for the provider send. */
export const PROVIDER_WORD = 'cloudflare';

/** The value with `<from>.standard` and the like in `to`'s word, wherever a type of nameservers is. */
export function withWord(value: unknown, from: string, to: string, key = ''): unknown {
  if (from === to) return value;
  if (typeof value === 'string') {
    return KEYS.has(key) && value.startsWith(`${from}.`)
      ? `${to}${value.slice(from.length)}`
      : value;
  }
  if (Array.isArray(value)) return value.map((item) => withWord(item, from, to));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, withWord(item, from, to, name)]),
  );
}

/** Whether bodies of this path can contain a type of nameservers. */
export function hasNameservers(path: string): boolean {
  return SHAPES.some((shape) => matchPath(shape, path) !== undefined);
}
