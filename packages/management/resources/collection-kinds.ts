// Describes the collections that store items as they are sent: the operations of each, and the required fields of its
// items. These are the ended groups of operations whose bodies the provider's published description does not show.
//
// Required fields follow the types of the npm package `cloudflare` (3.5.0 and 6.5.0).

import * as v from 'valibot';
import type { Method } from '../call/call.ts';
import type { Item } from './item-store.ts';

export interface CollectionKind {
  readonly owner: 'zone' | 'account' | 'directory';
  /** The path of the list. */
  readonly path: string;
  /** The name of the parameter with which the path of an item ends. */
  readonly item?: string;
  /** The methods of the list; PATCH, PUT and DELETE apply to several items at once. */
  readonly list: readonly Method[];
  /** The methods of one item; POST creates an item with the id in the path. */
  readonly one?: readonly Method[];
  readonly form?: v.GenericSchema<unknown, object>;
  /** Fields by whose exact value the list can be filtered. */
  readonly filters?: readonly string[];
  /** Whether the body and the answer of a creation are lists. */
  readonly createsMany?: boolean;
  /** Whether a patch of one item returns a list of one, as the SDK expects for firewall rules. */
  readonly patchGivesList?: boolean;
  /** Items that exist from the start. */
  readonly initialItems?: readonly Item[];
  /** The collection of the parent item, whose id is also in the path. */
  readonly parent?: CollectionKind;
}

const PACKAGE_ID = '00000000000000000000000000000a01';
const PACKAGES_PATH = '/zones/:zone_id/firewall/waf/packages';
const ORGANIZATION = '/organizations/:organization_identifier';
const CONNECTORS_PATH = `${ORGANIZATION}/legacy_connector`;
const MEMBER_ID = '00000000000000000000000000000b01';
const ROLE = { id: '00000000000000000000000000000b02', name: 'Administrator', permissions: {} };

const anyObject = v.looseObject({});

const PACKAGES: CollectionKind = {
  owner: 'zone',
  path: PACKAGES_PATH,
  item: 'package_id',
  list: ['GET'],
  one: ['GET', 'PATCH'],
  initialItems: [
    {
      id: PACKAGE_ID,
      ...{ name: 'USER', description: 'Managed rules', detection_mode: 'traditional' },
      ...{ status: 'active', sensitivity: 'high', action_mode: 'challenge' },
    },
  ],
};

const CONNECTORS: CollectionKind = {
  owner: 'account',
  path: CONNECTORS_PATH,
  item: 'identifier',
  list: ['GET', 'POST'],
  one: ['GET', 'PATCH', 'DELETE'],
  form: v.looseObject({ name: v.pipe(v.string(), v.nonEmpty()) }),
};

export const COLLECTIONS: readonly CollectionKind[] = [
  {
    owner: 'zone',
    path: '/zones/:zone_id/firewall/rules',
    item: 'rule_id',
    list: ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'],
    one: ['GET', 'PATCH', 'PUT', 'DELETE'],
    form: v.looseObject({ filter: anyObject, action: v.union([v.string(), anyObject]) }),
    createsMany: true,
    patchGivesList: true,
  },
  {
    owner: 'zone',
    path: '/zones/:zone_id/filters',
    item: 'filter_id',
    list: ['GET', 'POST', 'PUT', 'DELETE'],
    one: ['GET', 'PUT', 'DELETE'],
    form: v.looseObject({ expression: v.pipe(v.string(), v.nonEmpty()) }),
    createsMany: true,
  },
  PACKAGES,
  {
    owner: 'zone',
    path: `${PACKAGES_PATH}/:package_id/groups`,
    item: 'group_id',
    list: ['GET'],
    one: ['GET', 'PATCH'],
    parent: PACKAGES,
    initialItems: [
      {
        id: '00000000000000000000000000000a02',
        ...{ name: 'First group', description: '', mode: 'on', rules_count: 1 },
        ...{ modified_rules_count: 0, allowed_modes: ['on', 'off'], package_id: PACKAGE_ID },
      },
    ],
  },
  {
    owner: 'zone',
    path: `${PACKAGES_PATH}/:package_id/rules`,
    item: 'rule_id',
    list: ['GET'],
    one: ['GET', 'PATCH'],
    parent: PACKAGES,
    initialItems: [
      {
        id: '00000000000000000000000000000a03',
        ...{ description: 'First rule', priority: '0', mode: 'on', allowed_modes: ['on', 'off'] },
        ...{ package_id: PACKAGE_ID },
        group: { id: '00000000000000000000000000000a02', name: 'First group' },
      } as Item,
    ],
  },
  {
    owner: 'zone',
    path: '/zones/:zone_id/firewall/waf/overrides',
    item: 'override_id',
    list: ['GET', 'POST'],
    one: ['GET', 'PUT', 'DELETE'],
    form: v.looseObject({ urls: v.array(v.string()) }),
  },
  {
    owner: 'zone',
    path: '/zones/:zone_id/rate_limits',
    item: 'rate_limit_id',
    list: ['GET', 'POST'],
    one: ['GET', 'PUT', 'DELETE'],
    form: v.looseObject({
      match: anyObject,
      action: anyObject,
      threshold: v.pipe(v.number(), v.minValue(1)),
      period: v.pipe(v.number(), v.minValue(1)),
    }),
  },
  {
    owner: 'zone',
    path: '/zones/:zone_id/page_shield/policies',
    item: 'policy_id',
    list: ['GET', 'POST'],
    one: ['GET', 'PUT', 'DELETE'],
    form: v.looseObject({
      action: v.picklist(['allow', 'log', 'add_reporting_directives']),
      enabled: v.boolean(),
      expression: v.string(),
      value: v.string(),
      description: v.optional(v.string(), ''),
    }),
  },
  ...['scripts', 'connections', 'cookies'].map(
    (name): CollectionKind => ({
      owner: 'zone',
      path: `/zones/:zone_id/page_shield/${name}`,
      item: 'observed_id',
      list: ['GET'],
      one: ['GET'],
    }),
  ),
  {
    owner: 'account',
    path: '/accounts/:account_id/tunnels',
    item: 'tunnel_id',
    list: ['GET', 'POST'],
    one: ['GET', 'DELETE'],
    form: v.looseObject({ name: v.pipe(v.string(), v.nonEmpty()), tunnel_secret: v.string() }),
    filters: ['name'],
  },
  {
    owner: 'account',
    path: '/accounts/:account_id/access/bookmarks',
    item: 'uuid',
    list: ['GET'],
    one: ['GET', 'POST', 'PUT', 'DELETE'],
  },
  {
    owner: 'account',
    path: `${ORGANIZATION}/invites`,
    item: 'identifier',
    list: ['GET', 'POST'],
    one: ['GET', 'PATCH', 'DELETE'],
    form: v.looseObject({ invited_member_email: v.pipe(v.string(), v.email()) }),
  },
  {
    owner: 'account',
    path: `${ORGANIZATION}/members`,
    item: 'identifier',
    list: ['GET'],
    one: ['GET', 'PATCH', 'DELETE'],
    initialItems: [{ id: MEMBER_ID, ...{ name: 'Owner', status: 'accepted', roles: [ROLE] } }],
  },
  {
    owner: 'account',
    path: `${ORGANIZATION}/roles`,
    item: 'identifier',
    list: ['GET'],
    one: ['GET'],
    initialItems: [ROLE],
  },
  { owner: 'account', path: `${ORGANIZATION}/audit_logs`, list: ['GET'] },
  CONNECTORS,
  {
    owner: 'account',
    path: `${CONNECTORS_PATH}/:identifier/zones`,
    list: ['GET'],
    parent: CONNECTORS,
  },
  { owner: 'zone', path: '/zones/:zone_id/analytics/colos', list: ['GET'] },
  { owner: 'directory', path: '/user/billing/history', list: ['GET'] },
];
