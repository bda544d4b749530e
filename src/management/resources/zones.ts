// The zones, as clients see them. They are in the directory, so that one object can answer a list. The
// records and settings of each zone are in an object of its own.

import * as v from 'valibot';
import {
  type Answer,
  apiError,
  type RoutedCall,
  succeeded,
  type ZoneIdentity,
} from '../call/call.ts';
import { listPageAnswer, listPageOf } from '../call/paging.ts';
import { validate } from '../call/validation.ts';
import { accountOfForm, accounts, DIRECTORY_PAGES } from './account-list.ts';
import { dnsName, hostName } from './dns-names.ts';
import type { Collection, Filter, ItemStore } from './item-store.ts';

const ZONE_TYPES = ['full', 'partial', 'secondary', 'internal'] as const;

const ZoneForm = v.object({
  name: v.pipe(
    v.string(),
    v.transform((name) => hostName(name) ?? ''),
    v.check((name) => name.includes('.'), 'must be a domain name'),
  ),
  account: v.optional(v.object({ id: v.optional(v.string()) })),
  type: v.optional(v.picklist(ZONE_TYPES), 'full'),
});

const ZonePatch = v.partial(
  v.object({
    paused: v.boolean(),
    type: v.picklist(ZONE_TYPES),
    vanity_name_servers: v.array(v.string()),
  }),
);

interface Zone extends Omit<ZoneIdentity, 'accountName'> {
  readonly paused?: boolean;
  readonly vanityNameServers?: readonly string[];
  /** Absent until the first change. */
  readonly modifiedOn?: string;
}

/** The free plan; the description shows no plans. */
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

export function listZones(store: ItemStore, { query, visibleAccounts }: RoutedCall): Answer {
  const page = listPageOf(query, DIRECTORY_PAGES);
  const accountId = query['account.id'] ?? query['account[id]'];
  const accountName = query['account.name'] ?? query['account[name]'];
  const wanted: Filter[] = [];
  const want = (field: string, value: string | undefined) => {
    if (value !== undefined) wanted.push({ field, kind: 'is', value });
  };
  want('name', query.name && (dnsName(query.name) ?? query.name));
  want('accountId', accountId);
  want('type', query.type);
  if (accountName !== undefined) want('accountId', accountNamed(store, accountName) ?? '');
  if (query.status !== undefined && query.status !== 'active') want('id', '');
  const { items, total } = zones(store).find({
    filters: wanted,
    match: query.match === 'any' ? 'any' : 'all',
    order: query.order === 'account.id' ? 'accountId' : query.order && 'name',
    descending: query.direction === 'desc',
    page,
    ...(visibleAccounts && { within: { field: 'accountId', values: visibleAccounts } }),
  });
  return listPageAnswer(
    items.map((zone) => shown(store, zone)),
    total,
    page,
  );
}

export function createZone(store: ItemStore, call: RoutedCall): Answer {
  const form = validate(ZoneForm, call.body);
  const account = accountOfForm(store, call, form.account?.id);
  const { name } = form;
  if (zones(store).first([{ field: 'name', kind: 'is', value: name }])) {
    throw apiError('ZONE_EXISTS', `The zone ${name} already exists.`, '/name');
  }
  const zone = zones(store).insert({
    id: call.ids[0]!,
    name,
    accountId: account.id,
    type: form.type,
    createdOn: call.nowIso,
  });
  return succeeded(shown(store, zone));
}

export function showZone(store: ItemStore, call: RoutedCall): Answer {
  return succeeded(shown(store, known(store, call)));
}

export function editZone(store: ItemStore, call: RoutedCall): Answer {
  const { type, paused, vanity_name_servers } = validate(ZonePatch, call.body);
  const changed = zones(store).replace({
    ...known(store, call),
    ...(type !== undefined && { type }),
    ...(paused !== undefined && { paused }),
    ...(vanity_name_servers && { vanityNameServers: vanity_name_servers }),
    modifiedOn: call.nowIso,
  });
  return succeeded(shown(store, changed));
}

export function removeZone(store: ItemStore, call: RoutedCall): Answer {
  const { id } = known(store, call);
  zones(store).remove(id);
  return succeeded({ id });
}

/** Deletes the data of a zone that is no longer in the directory. */
export function eraseZone(store: ItemStore, call: RoutedCall): Answer {
  store.clear();
  return succeeded({ id: call.params.zone_id });
}

/** The identity of the zone; undefined if it does not exist. */
export function zoneIdentity(store: ItemStore, id: string): ZoneIdentity | undefined {
  const zone = zones(store).get(id);
  if (zone === undefined) return undefined;
  const { name, type, accountId, createdOn } = zone;
  return { id, name, type, accountId, accountName: accountName(store, zone), createdOn };
}

export function zoneIds(store: ItemStore): string[] {
  return zones(store).ids();
}

/** The zone as clients see it. */
function shown(store: ItemStore, zone: Zone): object {
  const { id, name, type, accountId, createdOn, modifiedOn = createdOn } = zone;
  return {
    id,
    name,
    status: 'active',
    paused: zone.paused ?? false,
    type,
    development_mode: 0,
    name_servers: ['ns1.provider.example', 'ns2.provider.example'],
    original_name_servers: null,
    original_registrar: null,
    original_dnshost: null,
    vanity_name_servers: zone.vanityNameServers ?? [],
    account: { id: accountId, name: accountName(store, zone) },
    owner: { id: null, type: 'user', email: null },
    plan: PLAN,
    meta: { step: 2, page_rule_quota: 3, phishing_detected: false },
    permissions: ['#zone:read', '#zone:edit', '#dns_records:read', '#dns_records:edit'],
    created_on: createdOn,
    activated_on: createdOn,
    modified_on: modifiedOn,
  };
}

/** The zone may have been deleted since the edge read its identity. */
function known(store: ItemStore, { params }: RoutedCall): Zone {
  const id = params.zone_id!;
  const zone = zones(store).get(id);
  if (zone === undefined) throw apiError('RESOURCE_UNKNOWN', `There is no zone ${id}.`);
  return zone;
}

function accountName(store: ItemStore, { accountId }: Zone): string {
  return accounts(store).get(accountId)!.name;
}

/** The id of the account of that name. */
function accountNamed(store: ItemStore, name: string): string | undefined {
  return accounts(store).first([{ field: 'name', kind: 'exact', value: name }])?.id;
}

function zones(store: ItemStore): Collection<Zone> {
  return store.collection('zones');
}
