// The directory: which accounts and zones there are, and what identifies them. One object keeps it.
//
// A zone's name is taken once. Everything else about a zone or an account is in its own object, which
// is given the identity with each call and so needs no copy.

import * as v from 'valibot';
import {
  type AccountIdentity,
  type Answer,
  apiError,
  type RoutedCall,
  succeeded,
  type ZoneIdentity,
} from '../call.ts';
import type { Filter, ItemStore, Selection } from '../objects/item-store.ts';
import { type Page, pageAnswer, pageOf } from '../paging.ts';
import { validate } from '../validation.ts';
import { AccountForm } from './accounts.ts';
import { isHostname } from './dns-record-form.ts';
import { ZONE_TYPES } from './zones.ts';

export interface DirectoryAccount extends AccountIdentity {
  /** The day on which this account's calls happen, unless they say otherwise. */
  readonly pin?: string;
}

type DirectoryZone = Omit<ZoneIdentity, 'accountName'>;

/** What the edge asks for with every call that names a zone or an account. */
export interface Identities {
  readonly zone?: ZoneIdentity;
  readonly account?: DirectoryAccount;
}

const PAGE_SIZES = { usual: 20, most: 1000 };

const ZoneForm = v.object({
  name: v.pipe(
    v.string(),
    v.check((name) => isHostname(name) && name.includes('.'), 'must be a domain name'),
  ),
  account: v.optional(v.object({ id: v.optional(v.string()) })),
  type: v.optional(v.picklist(ZONE_TYPES), 'full'),
});

export function listZones(store: ItemStore, call: RoutedCall): Answer {
  const { query } = call;
  const page = pageOf(query, PAGE_SIZES);
  const accountId = query['account.id'] ?? query['account[id]'];
  const accountName = query['account.name'] ?? query['account[name]'];
  const wanted: Filter[] = [];
  const want = (field: string, value: string | undefined) => {
    if (value !== undefined) wanted.push({ field, kind: 'exact', value });
  };
  want('name', query.name);
  want('accountId', accountId);
  want('type', query.type);
  if (accountName !== undefined) want('accountId', accountNamed(store, accountName)?.id ?? '');
  if (query.status !== undefined && query.status !== 'active') want('id', '');
  const order = query.order === 'account.id' ? 'accountId' : query.order && 'name';
  const answer = found<DirectoryZone>(store, call, 'zones', 'accountId', page, {
    filters: wanted,
    match: query.match === 'any' ? 'any' : 'all',
    order,
    descending: query.direction === 'desc',
  });
  return {
    ...answer,
    result: (answer.result as DirectoryZone[]).map((zone) => named(store, zone)),
  };
}

export function createZone(store: ItemStore, call: RoutedCall): Answer {
  const form = validate(ZoneForm, call.body);
  const account = accountOfForm(store, call, form.account?.id);
  const name = form.name.toLowerCase().replace(/\.$/, '');
  const [taken] = zones(store).find({
    filters: [{ field: 'name', kind: 'exact', value: name }],
  }).items;
  if (taken) throw apiError('ZONE_EXISTS', `The zone ${name} exists already.`, '/name');
  const zone = zones(store).insert({
    id: call.ids[0]!,
    name,
    accountId: account.id,
    type: form.type,
    createdOn: call.nowIso,
  });
  return succeeded(named(store, zone));
}

export function removeZone(store: ItemStore, call: RoutedCall): Answer {
  const id = call.params.zone_id!;
  zones(store).remove(id);
  return succeeded({ id });
}

export function listAccounts(store: ItemStore, call: RoutedCall): Answer {
  const { name, direction } = call.query;
  const page = pageOf(call.query, PAGE_SIZES);
  return found<DirectoryAccount>(store, call, 'accounts', 'id', page, {
    filters: name === undefined ? [] : [{ field: 'name', kind: 'exact', value: name }],
    descending: direction === 'desc',
  });
}

export function createAccount(store: ItemStore, call: RoutedCall): Answer {
  const { name, type = 'standard' } = validate(AccountForm, call.body);
  const account = { id: call.ids[0]!, name, type, createdOn: call.nowIso };
  return succeeded(accounts(store).insert(account));
}

/** The zone and the account that the query names, as far as they exist. */
export function identify(store: ItemStore, { query }: RoutedCall): Answer {
  const found = query.zone === undefined ? undefined : zones(store).get(query.zone);
  const account = accounts(store).get(found?.accountId ?? query.account ?? '');
  const zone = found && named(store, found);
  return succeeded({ ...(zone && { zone }), ...(account && { account }) } satisfies Identities);
}

/** Takes over what a zone or an account changed of its identity. */
export function updateIdentity(store: ItemStore, call: RoutedCall): Answer {
  const { kind, id } = call.params;
  const { name, type, pin } = call.body as Partial<Record<'name' | 'type' | 'pin', string | null>>;
  if (kind === 'zone') {
    const zone = zones(store).get(id!)!;
    return succeeded(zones(store).replace({ ...zone, type: type ?? zone.type }));
  }
  const account = accounts(store).get(id!);
  if (account === undefined) throw apiError('RESOURCE_UNKNOWN', `There is no account ${id}.`);
  const { pin: pinned, ...rest } = account;
  const kept = pin === undefined ? pinned : pin;
  const changed = { ...rest, name: name ?? rest.name, type: type ?? rest.type };
  return succeeded(accounts(store).replace(kept ? { ...changed, pin: kept } : changed));
}

/** Adds the accounts an emulator is started with, unless they are there. */
export function ensureAccounts(store: ItemStore, call: RoutedCall): Answer {
  for (const { id, name } of call.body as { id: string; name: string }[]) {
    if (accounts(store).get(id)) continue;
    accounts(store).insert({ id, name, type: 'standard', createdOn: call.nowIso });
  }
  return succeeded(null);
}

/** The ids of all there is. */
export function listIds(store: ItemStore): Answer {
  const idsOf = (items: readonly { id: string }[]) => items.map(({ id }) => id);
  return succeeded({
    zones: idsOf(zones(store).find().items),
    accounts: idsOf(accounts(store).find().items),
  });
}

function found<T extends { id: string }>(
  store: ItemStore,
  call: RoutedCall,
  collection: 'zones' | 'accounts',
  accountField: string,
  page: Page,
  selection: Selection,
): Answer {
  const visible = call.visibleAccounts;
  const all = store.collection<T>(collection);
  if (visible === undefined) {
    const { items, total } = all.find({ ...selection, page });
    return pageAnswer(items, total, page);
  }
  const own = all
    .find(selection)
    .items.filter((item) =>
      visible.includes((item as Record<string, unknown>)[accountField] as string),
    );
  const start = (page.number - 1) * page.size;
  return pageAnswer(own.slice(start, start + page.size), own.length, page);
}

/** Without an id, the only account there is. */
function accountOfForm(store: ItemStore, call: RoutedCall, id?: string): DirectoryAccount {
  const visible = call.visibleAccounts;
  if (id === undefined) {
    const own = accounts(store)
      .find()
      .items.filter((account) => visible?.includes(account.id) ?? true);
    if (own.length === 1) return own[0]!;
    throw apiError('FIELD_MISSING', 'account.id is required.', '/account/id');
  }
  const account = accounts(store).get(id);
  if (account === undefined) {
    throw apiError('RESOURCE_UNKNOWN', `There is no account ${id}.`, '/account/id');
  }
  if (visible?.includes(id) === false) {
    throw apiError('FORBIDDEN', `The token has no access to account ${id}.`, '/account/id');
  }
  return account;
}

function named(store: ItemStore, zone: DirectoryZone): ZoneIdentity {
  return { ...zone, accountName: accounts(store).get(zone.accountId)!.name };
}

function accountNamed(store: ItemStore, name: string): DirectoryAccount | undefined {
  return accounts(store).find({ filters: [{ field: 'name', kind: 'exact', value: name }] })
    .items[0];
}

function zones(store: ItemStore) {
  return store.collection<DirectoryZone>('zones');
}

function accounts(store: ItemStore) {
  return store.collection<DirectoryAccount>('accounts');
}
