// The word in types of nameservers: `provider.standard` here, the provider's own name in its clients.
// Objects store and check only `provider`; the edge converts the word.

import { matchPath } from '../schedule/paths.ts';

const KEYS = new Set(['type', 'default_nameservers']);
const SHAPES = [
  '/accounts',
  '/accounts/:account_id',
  '/accounts/:account_id/dns_settings',
  '/zones/:zone_id/dns_settings',
];
export const NEUTRAL_WORD = 'provider';
/** The word that the provider's clients send. */
export const PROVIDER_WORD = 'cloudflare';

/** Replaces the word of every type of nameservers in the value, such as `<from>.standard`. */
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
