// Every route of the interface in its newest form: the object that answers, its handler, and the step that follows a
// success.
//
// Paths that exist only in older forms are not here, because changes convert them to these.

import type { Answer, RoutedCall } from '../call/call.ts';
import * as accountList from '../resources/account-list.ts';
import * as accounts from '../resources/accounts.ts';
import { COLLECTIONS } from '../resources/collection-kinds.ts';
import { collectionHandlers } from '../resources/collections.ts';
import * as directory from '../resources/directory.ts';
import * as records from '../resources/dns-records.ts';
import * as dns from '../resources/dns-settings.ts';
import * as fixed from '../resources/fixed-answers.ts';
import { createDirectUpload } from '../resources/images.ts';
import type { ItemStore } from '../resources/item-store.ts';
import * as pageShield from '../resources/page-shield.ts';
import * as pools from '../resources/pools.ts';
import * as settings from '../resources/zone-settings.ts';
import * as zones from '../resources/zones.ts';
import { operationOf, RouteTable } from './route-table.ts';

/** The kind of object that answers a route. */
export type Owner = 'zone' | 'account' | 'directory';

/**
 * The step that the edge performs after a success. `show accounts` replaces each account by the answer of its own
 * object; `write account` passes the body of a creation to the new object; `update account` sends the changes to the
 * directory; `erase zone` deletes a zone's data.
 */
export type NextStep = 'show accounts' | 'write account' | 'update account' | 'erase zone';

export interface Route {
  readonly owner: Owner;
  readonly handle: (store: ItemStore, call: RoutedCall) => Answer;
  readonly nextStep?: NextStep;
}

type Row = readonly [operation: string, owner: Owner, handle: Route['handle'], nextStep?: NextStep];

const RECORDS = '/zones/:zone_id/dns_records';

const ROWS: readonly Row[] = [
  ['GET /zones', 'directory', zones.listZones],
  ['POST /zones', 'directory', zones.createZone],
  ['GET /zones/:zone_id', 'directory', zones.showZone],
  ['PATCH /zones/:zone_id', 'directory', zones.editZone],
  ['DELETE /zones/:zone_id', 'directory', zones.removeZone, 'erase zone'],
  ['GET /accounts', 'directory', accountList.listAccounts, 'show accounts'],
  ['POST /accounts', 'directory', accountList.createAccount, 'write account'],
  ['GET /accounts/:account_id', 'account', accounts.showAccount],
  ['PUT /accounts/:account_id', 'account', accounts.replaceAccount, 'update account'],
  [`GET ${RECORDS}`, 'zone', records.listRecords],
  [`POST ${RECORDS}`, 'zone', records.createRecord],
  [`GET ${RECORDS}/:dns_record_id`, 'zone', records.showRecord],
  [`PATCH ${RECORDS}/:dns_record_id`, 'zone', records.editRecord],
  [`PUT ${RECORDS}/:dns_record_id`, 'zone', records.replaceRecord],
  [`DELETE ${RECORDS}/:dns_record_id`, 'zone', records.removeRecord],
  ['GET /zones/:zone_id/dns_settings', 'zone', dns.showZoneDnsSettings],
  ['PATCH /zones/:zone_id/dns_settings', 'zone', dns.editZoneDnsSettings],
  ['GET /accounts/:account_id/dns_settings', 'account', dns.showAccountDnsSettings],
  ['PATCH /accounts/:account_id/dns_settings', 'account', dns.editAccountDnsSettings],
  ['GET /zones/:zone_id/settings', 'zone', settings.listSettings],
  ['PATCH /zones/:zone_id/settings', 'zone', settings.editSettings],
  ['GET /zones/:zone_id/settings/:setting_id', 'zone', settings.showSetting],
  ['PATCH /zones/:zone_id/settings/:setting_id', 'zone', settings.editSetting],
  ...poolRows('/accounts/:account_id/load_balancers/pools', 'account'),
  ...poolRows('/user/load_balancers/pools', 'directory'),
  ['GET /zones/:zone_id/page_shield', 'zone', pageShield.showPageShield],
  ['PUT /zones/:zone_id/page_shield', 'zone', pageShield.editPageShield],
  ['POST /accounts/:account_id/images/v2/direct_upload', 'account', createDirectUpload],
  ['GET /zones/:zone_id/analytics/dashboard', 'zone', fixed.showDashboard],
  ['GET /user/billing/profile', 'directory', fixed.showBillingProfile],
  ['GET /accounts/:account_id/billing/profile', 'account', fixed.showBillingProfile],
  ['GET /organizations/:account_id', 'account', accounts.showOrganization],
  ['PATCH /organizations/:account_id', 'account', accounts.editOrganization, 'update account'],
];

function poolRows(path: string, owner: Owner): Row[] {
  return [
    [`GET ${path}`, owner, pools.listPools],
    [`POST ${path}`, owner, pools.createPool],
    [`PATCH ${path}`, owner, pools.editPools],
    [`GET ${path}/:pool_id`, owner, pools.showPool],
    [`PATCH ${path}/:pool_id`, owner, pools.editPool],
    [`PUT ${path}/:pool_id`, owner, pools.replacePool],
    [`DELETE ${path}/:pool_id`, owner, pools.removePool],
  ];
}

/** Routes of calls that the edge itself makes; clients cannot reach them. */
const INTERNAL_ROWS: readonly Row[] = [
  ['GET /identities', 'directory', directory.identify],
  ['POST /identities', 'directory', accountList.ensureAccounts],
  ['GET /ids', 'directory', directory.listIds],
  ['PATCH /identities/account/:id', 'directory', accountList.updateAccount],
  ['DELETE /erased/:zone_id', 'zone', zones.eraseZone],
];

/** Returns the routes that clients can reach. */
export function publicRoutes(): RouteTable<Route> {
  const table = tableOf(ROWS);
  for (const kind of COLLECTIONS) {
    for (const { method, path, handle } of collectionHandlers(kind)) {
      table.add(method, path, { owner: kind.owner, handle });
    }
  }
  return table;
}

export function internalRoutes(): RouteTable<Route> {
  return tableOf(INTERNAL_ROWS);
}

function tableOf(rows: readonly Row[]): RouteTable<Route> {
  const table = new RouteTable<Route>();
  for (const [operation, owner, handle, nextStep] of rows) {
    const { method, path } = operationOf(operation);
    table.add(method, path, { owner, handle, ...(nextStep && { nextStep }) });
  }
  return table;
}
