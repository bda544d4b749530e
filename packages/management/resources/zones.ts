// The zones as clients see them. They are all in the directory, so that one object can answer a list. The records and
// settings of each zone are in an object of its own.

import * as v from 'valibot';
import {
  type Answer,
  apiError,
  type RoutedCall,
  successAnswer,
  type ZoneIdentity,
} from '../call/call.ts';
import { type ListParameters, listQuery } from '../call/list-query.ts';
import { listPageAnswer, listPageOf } from '../call/paging.ts';
import { validate } from '../call/validation.ts';
import { accountOfForm, accounts, DIRECTORY_PAGES, visibleAccountsFilter } from './account-list.ts';
import { dnsName, hostName } from './dns-names.ts';
import type { Collection, FieldOfOther, Filter, ItemStore } from './item-store.ts';

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
  /** The time of the last change; absent until the first one. */
  readonly modifiedOn?: string;
}

/** The plan of every zone, because the provider's published description shows no plans. */
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

/**
 * The query parameters of the list: those of the npm package `cloudflare`. All zones of the emulator are active and
 * have one plan.
 */
const LIST_PARAMETERS: ListParameters = {
  texts: ['name', 'account.id', 'account.name'],
  words: {
    status: ['initializing', 'pending', 'active', 'moved'],
    order: ['name', 'status', 'account.id', 'account.name', 'plan.id'],
    direction: ['asc', 'desc'],
    match: ['all', 'any'],
  },
  wordLists: { type: ZONE_TYPES },
};

const ORDER_FIELDS: Readonly<Record<string, string | FieldOfOther>> = {
  name: 'name',
  'account.id': 'accountId',
  'account.name': { collection: 'accounts', idField: 'accountId', field: 'name' },
};

export function listZones(store: ItemStore, call: RoutedCall): Answer {
  const query = listQuery(call, LIST_PARAMETERS);
  const page = listPageOf(query, DIRECTORY_PAGES);
  const { items, total } = zones(store).find({
    filters: filtersOf(store, query),
    match: query.match === 'any' ? 'any' : 'all',
    order: ORDER_FIELDS[query.order ?? ''],
    descending: query.direction === 'desc',
    page,
    always: [
      ...visibleAccountsFilter(call, 'accountId'),
      ...(query.type === undefined ? [NOT_INTERNAL] : []),
    ],
  });
  return listPageAnswer(
    items.map((zone) => forClients(store, zone)),
    total,
    page,
  );
}

/** Excludes internal zones from a list that does not ask for a type. */
const NOT_INTERNAL: Filter = { field: 'type', kind: 'is not', value: 'internal' };

function filtersOf(store: ItemStore, query: RoutedCall['query']): Filter[] {
  const { name, type, status } = query;
  const accountId = query['account.id'];
  const accountName = query['account.name'];
  const filters: Filter[] = [];
  const addFilter = (field: string, values: readonly string[]) =>
    filters.push({ field, kind: 'one of', value: JSON.stringify(values) });
  if (name !== undefined) {
    const value = dnsName(withoutOperator('name', name)) ?? name;
    filters.push({ field: 'name', kind: 'is', value });
  }
  if (accountId !== undefined) addFilter('accountId', [accountId]);
  if (accountName !== undefined) {
    addFilter('accountId', accountsNamed(store, withoutOperator('account.name', accountName)));
  }
  if (type !== undefined) addFilter('type', type.split(','));
  if (status !== undefined) {
    filters.push({ field: 'id', kind: status === 'active' ? 'present' : 'absent', value: '' });
  }
  return filters;
}

/**
 * Refuses a value that begins with an operator. The SDK's types name operators for these filters, but do not show how
 * they are written.
 */
function withoutOperator(parameter: string, value: string): string {
  const [operator] =
    /^(?:equal|not_equal|(?:starts_with|ends_with|contains)(?:_case_sensitive)?):/.exec(value) ??
    [];
  if (operator === undefined) return value;
  throw apiError('FIELD_INVALID', `${parameter} is "${value}"; operators are not emulated.`);
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
  return successAnswer(forClients(store, zone));
}

export function showZone(store: ItemStore, call: RoutedCall): Answer {
  return successAnswer(forClients(store, existingZone(store, call)));
}

export function editZone(store: ItemStore, call: RoutedCall): Answer {
  const { type, paused, vanity_name_servers } = validate(ZonePatch, call.body);
  const changed = zones(store).replace({
    ...existingZone(store, call),
    ...(type !== undefined && { type }),
    ...(paused !== undefined && { paused }),
    ...(vanity_name_servers && { vanityNameServers: vanity_name_servers }),
    modifiedOn: call.nowIso,
  });
  return successAnswer(forClients(store, changed));
}

export function removeZone(store: ItemStore, call: RoutedCall): Answer {
  const { id } = existingZone(store, call);
  zones(store).remove(id);
  return successAnswer({ id });
}

/** Deletes the data of a zone that is no longer in the directory. */
export function eraseZone(store: ItemStore, call: RoutedCall): Answer {
  store.clear();
  return successAnswer({ id: call.params.zone_id });
}

/** Returns the identity of the zone; undefined if it does not exist. */
export function zoneIdentity(store: ItemStore, id: string): ZoneIdentity | undefined {
  const zone = zones(store).get(id);
  if (zone === undefined) return undefined;
  const { name, type, accountId, createdOn } = zone;
  return { id, name, type, accountId, accountName: accountName(store, zone), createdOn };
}

export function zoneIds(store: ItemStore): string[] {
  return zones(store).ids();
}

/** Converts a stored zone to the form that clients see. */
function forClients(store: ItemStore, zone: Zone): object {
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

/** Reads the zone again, because it may have been deleted since the edge read its identity. */
function existingZone(store: ItemStore, { params }: RoutedCall): Zone {
  const id = params.zone_id!;
  const zone = zones(store).get(id);
  if (zone === undefined) throw apiError('RESOURCE_UNKNOWN', `There is no zone ${id}.`);
  return zone;
}

function accountName(store: ItemStore, { accountId }: Zone): string {
  return accounts(store).get(accountId)!.name;
}

/** Returns the ids of the accounts with that name. */
function accountsNamed(store: ItemStore, name: string): string[] {
  const filters: Filter[] = [{ field: 'name', kind: 'exact', value: name }];
  return accounts(store)
    .find({ filters })
    .items.map(({ id }) => id);
}

function zones(store: ItemStore): Collection<Zone> {
  return store.collection('zones');
}
