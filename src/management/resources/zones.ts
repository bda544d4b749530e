// A zone as its own object shows and changes it; which zones there are is the directory's.

import * as v from 'valibot';
import { type Answer, type RoutedCall, succeeded, type ZoneIdentity } from '../call.ts';
import type { ItemStore } from '../objects/item-store.ts';
import { validate } from '../validation.ts';

export const ZONE_TYPES = ['full', 'partial', 'secondary', 'internal'] as const;

const ZonePatch = v.partial(
  v.object({
    paused: v.boolean(),
    type: v.picklist(ZONE_TYPES),
    vanity_name_servers: v.array(v.string()),
  }),
);

interface Stored {
  readonly paused: boolean;
  readonly vanity_name_servers: readonly string[];
  readonly modified_on: string;
}

/** The free plan; the described interface shows no plans. */
const PLAN = {
  id: '00000000000000000000000000000001',
  name: 'Free',
  price: 0,
  currency: 'USD',
  frequency: '',
  is_subscribed: false,
  can_subscribe: false,
  externally_managed: false,
  legacy_id: 'free',
  legacy_discount: false,
};

export function showZone(store: ItemStore, call: RoutedCall): Answer {
  return succeeded(zoneOf(call.zone!, stored(store, call.zone!)));
}

export function editZone(store: ItemStore, call: RoutedCall): Answer {
  const { type, ...patch } = validate(ZonePatch, call.body);
  const before = stored(store, call.zone!);
  const changed: Stored = {
    paused: patch.paused ?? before.paused,
    vanity_name_servers: patch.vanity_name_servers ?? before.vanity_name_servers,
    modified_on: call.nowIso,
  };
  store.putDocument('zone', changed);
  return succeeded(zoneOf({ ...call.zone!, type: type ?? call.zone!.type }, changed));
}

/** Forgets all of a zone the directory no longer has. */
export function eraseZone(store: ItemStore, call: RoutedCall): Answer {
  store.clear();
  return succeeded({ id: call.params.zone_id });
}

function stored(store: ItemStore, { createdOn }: ZoneIdentity): Stored {
  const none = { paused: false, vanity_name_servers: [], modified_on: createdOn };
  return store.document<Stored>('zone') ?? none;
}

function zoneOf(identity: ZoneIdentity, { paused, vanity_name_servers, modified_on }: Stored) {
  const { id, name, type, accountId, accountName, createdOn } = identity;
  return {
    id,
    name,
    status: 'active',
    paused,
    type,
    development_mode: 0,
    name_servers: ['ns1.provider.example', 'ns2.provider.example'],
    original_name_servers: null,
    original_registrar: null,
    original_dnshost: null,
    vanity_name_servers,
    account: { id: accountId, name: accountName },
    owner: { id: null, type: 'user', email: null },
    plan: PLAN,
    meta: { step: 2, page_rule_quota: 3, phishing_detected: false },
    permissions: ['#zone:read', '#zone:edit', '#dns_records:read', '#dns_records:edit'],
    created_on: createdOn,
    activated_on: createdOn,
    modified_on,
  };
}
