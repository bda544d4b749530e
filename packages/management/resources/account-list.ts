// The accounts in the directory: their ids, names and types.
//
// All other data of an account is in its own object. That object needs no copy of the identity, because each call
// contains it.

import {
  type AccountIdentity,
  type Answer,
  apiError,
  type RoutedCall,
  successAnswer,
} from '../call/call.ts';
import { listQuery } from '../call/list-query.ts';
import { listPageAnswer, listPageOf } from '../call/paging.ts';
import { validate } from '../call/validation.ts';
import { AccountForm } from './accounts.ts';
import type { Collection, Filter, ItemStore } from './item-store.ts';

export interface DirectoryAccount extends AccountIdentity {
  /** The day of this account's calls, unless their headers contain another day. */
  readonly pin?: string;
}

export const DIRECTORY_PAGES = { defaultSize: 20, maxSize: 1000 };

const DIRECTIONS = ['asc', 'desc'];

export function listAccounts(store: ItemStore, call: RoutedCall): Answer {
  const query = listQuery(call, { texts: ['name'], words: { direction: DIRECTIONS } });
  const { name, direction } = query;
  const page = listPageOf(query, DIRECTORY_PAGES);
  const { items, total } = accounts(store).find({
    filters: name === undefined ? [] : [{ field: 'name', kind: 'exact', value: name }],
    descending: direction === 'desc',
    page,
    always: visibleAccountsFilter(call, 'id'),
  });
  return listPageAnswer(items, total, page);
}

export function createAccount(store: ItemStore, call: RoutedCall): Answer {
  const { name, type = 'standard' } = validate(AccountForm, call.body);
  const account = { id: call.ids[0]!, name, type, createdOn: call.nowIso };
  return successAnswer(accounts(store).insert(account));
}

/** Stores a change of an account's name, type or pinned date. */
export function updateAccount(store: ItemStore, call: RoutedCall): Answer {
  const id = call.params.id!;
  const { name, type, pin } = call.body as Partial<Record<'name' | 'type' | 'pin', string | null>>;
  const account = accounts(store).get(id);
  if (account === undefined) throw apiError('RESOURCE_UNKNOWN', `There is no account ${id}.`);
  const { pin: pinned, ...rest } = account;
  const kept = pin === undefined ? pinned : pin;
  const changed = { ...rest, name: name ?? rest.name, type: type ?? rest.type };
  return successAnswer(accounts(store).replace(kept ? { ...changed, pin: kept } : changed));
}

/** The creation date of accounts that exist from the start; it is earlier than every date of the schedule. */
const START_ISO = '2010-01-01T00:00:00.000Z';

/** Adds the accounts that exist from the start, unless they already exist. */
export function ensureAccounts(store: ItemStore, call: RoutedCall): Answer {
  for (const { id, name } of call.body as { id: string; name: string }[]) {
    if (accounts(store).get(id)) continue;
    accounts(store).insert({ id, name, type: 'standard', createdOn: START_ISO });
  }
  return successAnswer(null);
}

/**
 * Returns the account that a form names. If the form has no id and the caller can see only one account, returns that
 * account.
 */
export function accountOfForm(store: ItemStore, call: RoutedCall, id?: string): DirectoryAccount {
  if (id === undefined) {
    const page = { number: 1, size: 2 };
    const { items: own } = accounts(store).find({
      page,
      always: visibleAccountsFilter(call, 'id'),
    });
    if (own.length === 1) return own[0]!;
    throw apiError('FIELD_MISSING', 'account.id is required.', '/account/id');
  }
  const account = accounts(store).get(id);
  if (account === undefined) {
    throw apiError('RESOURCE_UNKNOWN', `There is no account ${id}.`, '/account/id');
  }
  if (call.visibleAccounts?.includes(id) === false) {
    throw apiError('FORBIDDEN', `The token has no access to account ${id}.`, '/account/id');
  }
  return account;
}

export function accounts(store: ItemStore): Collection<DirectoryAccount> {
  return store.collection('accounts');
}

/**
 * Makes the filter that restricts a list to the accounts that the caller may see; `field` is the field with the
 * account's id.
 */
export function visibleAccountsFilter(
  { visibleAccounts }: RoutedCall,
  field: string,
): readonly Filter[] {
  if (visibleAccounts === undefined) return [];
  return [{ field, kind: 'one of', value: JSON.stringify(visibleAccounts) }];
}
