// The DNS settings of a zone, and the defaults that an account has for its zones, as one document in each object.
//
// They replace several older settings, which the modules in ../changes read and write here. A patch changes only the
// fields it contains.

import * as v from 'valibot';
import type { Answer, RoutedCall } from '../call/call.ts';
import { successAnswer } from '../call/call.ts';
import { validate } from '../call/validation.ts';
import type { ItemStore } from './item-store.ts';

/** The values that an account's `zone_defaults.nameservers.type` can have. */
export const ACCOUNT_NAMESERVERS = [
  'provider.standard',
  'provider.standard.random',
  'custom.account',
  'custom.tenant',
] as const;

export type AccountNameservers = (typeof ACCOUNT_NAMESERVERS)[number];

const ZONE_NAMESERVERS = [
  'provider.standard',
  'provider.advanced',
  'custom.account',
  'custom.tenant',
  'custom.zone',
] as const;

const seconds = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(2_147_483_647));

const soa = v.partial(
  v.object({
    expire: seconds,
    min_ttl: seconds,
    mname: v.nullable(v.string()),
    refresh: seconds,
    retry: seconds,
    rname: v.string(),
    ttl: seconds,
  }),
);

function settingsWith<const T extends readonly string[]>(nameservers: T) {
  return v.partial(
    v.object({
      flatten_all_cnames: v.boolean(),
      foundation_dns: v.boolean(),
      internal_dns: v.object({ reference_zone_id: v.optional(v.string()) }),
      multi_provider: v.boolean(),
      nameservers: v.object({
        type: v.picklist(nameservers),
        ns_set: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(5))),
      }),
      ns_ttl: v.pipe(v.number(), v.integer(), v.minValue(30), v.maxValue(86_400)),
      secondary_overrides: v.boolean(),
      soa,
      zone_mode: v.picklist(['standard', 'cdn_only', 'dns_only']),
    }),
  );
}

const ZonePatch = settingsWith(ZONE_NAMESERVERS);
const AccountPatch = v.partial(
  v.object({ zone_defaults: settingsWith(ACCOUNT_NAMESERVERS), enforce_dns_only: v.boolean() }),
);

const ZONE_DEFAULTS: Fields = {
  flatten_all_cnames: false,
  foundation_dns: false,
  internal_dns: {},
  multi_provider: false,
  nameservers: { type: 'provider.standard' },
  ns_ttl: 86_400,
  secondary_overrides: false,
  soa: { expire: 604_800, min_ttl: 1800, mname: null, refresh: 10_000, retry: 2400, ttl: 3600 },
  zone_mode: 'standard',
};
const ACCOUNT_DEFAULTS: Fields = { zone_defaults: ZONE_DEFAULTS, enforce_dns_only: false };

type Fields = { readonly [name: string]: unknown };

export function readDnsSettings(store: ItemStore, owner: 'zone' | 'account'): Fields {
  const stored = store.document<Fields>('dns_settings');
  return stored ?? (owner === 'zone' ? ZONE_DEFAULTS : ACCOUNT_DEFAULTS);
}

export function patchDnsSettings(
  store: ItemStore,
  owner: 'zone' | 'account',
  patch: unknown,
): Fields {
  const valid = validate(owner === 'zone' ? ZonePatch : AccountPatch, patch);
  const changed = mergeFields(readDnsSettings(store, owner), valid);
  store.putDocument('dns_settings', changed);
  return changed;
}

/** Changes the account's type of nameservers from the current type to its entry in `nextTypes`. */
export function setNameservers(
  store: ItemStore,
  nextTypes: Readonly<Record<string, string>>,
): void {
  const { zone_defaults } = readDnsSettings(store, 'account') as {
    readonly zone_defaults: { readonly nameservers: { readonly type: string } };
  };
  const { type } = zone_defaults.nameservers;
  const next = nextTypes[type];
  if (next === type) return;
  patchDnsSettings(store, 'account', { zone_defaults: { nameservers: { type: next } } });
}

export function showZoneDnsSettings(store: ItemStore): Answer {
  return successAnswer(readDnsSettings(store, 'zone'));
}

export function editZoneDnsSettings(store: ItemStore, call: RoutedCall): Answer {
  return successAnswer(patchDnsSettings(store, 'zone', call.body));
}

export function showAccountDnsSettings(store: ItemStore): Answer {
  return successAnswer(readDnsSettings(store, 'account'));
}

export function editAccountDnsSettings(store: ItemStore, call: RoutedCall): Answer {
  return successAnswer(patchDnsSettings(store, 'account', call.body));
}

function mergeFields(old: Fields, patch: Fields): Fields {
  const result: Record<string, unknown> = { ...old };
  for (const [name, value] of Object.entries(patch)) {
    const before = old[name];
    result[name] = isFields(before) && isFields(value) ? mergeFields(before, value) : value;
  }
  return result;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
