// Converts the word before the dot in types of nameservers: `provider.standard` in the objects, `cloudflare.standard`
// in the provider's own clients.
//
// Objects store and check only `provider`; the edge converts it.

import { matchPath } from '../schedule/paths.ts';

const TYPE_FIELDS = new Set(['type', 'default_nameservers']);
const PATHS_WITH_NAMESERVERS = [
  '/accounts',
  '/accounts/:account_id',
  '/accounts/:account_id/dns_settings',
  '/zones/:zone_id/dns_settings',
];
export const NEUTRAL_WORD = 'provider';
/** The word that the provider's clients send. */
export const PROVIDER_WORD = 'cloudflare';

/** Replaces the word `from` by `to` in every type of nameservers in the value, such as `<from>.standard`. */
export function replaceWord(value: unknown, from: string, to: string, key = ''): unknown {
  if (from === to) return value;
  if (typeof value === 'string') {
    return TYPE_FIELDS.has(key) && value.startsWith(`${from}.`)
      ? `${to}${value.slice(from.length)}`
      : value;
  }
  if (Array.isArray(value)) return value.map((item) => replaceWord(item, from, to));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, replaceWord(item, from, to, name)]),
  );
}

/** Returns whether bodies of this path can contain a type of nameservers. */
export function hasNameservers(path: string): boolean {
  return PATHS_WITH_NAMESERVERS.some((shape) => matchPath(shape, path) !== undefined);
}
