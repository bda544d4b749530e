// Returns the identities of zones and accounts, which the edge reads before each call.

import { type Answer, type RoutedCall, successAnswer, type ZoneIdentity } from '../call/call.ts';
import { accounts, type DirectoryAccount } from './account-list.ts';
import type { ItemStore } from './item-store.ts';
import { zoneIdentity, zoneIds } from './zones.ts';

/** The identities that the edge reads for every call whose path names a zone or an account. */
export interface Identities {
  readonly zone?: ZoneIdentity;
  readonly account?: DirectoryAccount;
}

/** Returns the zone and the account that the query names, if they exist. */
export function identify(store: ItemStore, { query }: RoutedCall): Answer {
  const zone = query.zone === undefined ? undefined : zoneIdentity(store, query.zone);
  const account = accounts(store).get(zone?.accountId ?? query.account ?? '');
  return successAnswer({ ...(zone && { zone }), ...(account && { account }) } satisfies Identities);
}

/** Returns the ids of all zones and accounts. */
export function listIds(store: ItemStore): Answer {
  return successAnswer({ zones: zoneIds(store), accounts: accounts(store).ids() });
}
