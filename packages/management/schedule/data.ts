// The built-in schedule: every change in the provider's published description of the interface, with its date.
//
// The description never says when a change was announced, so no entry has `announced`; a custom schedule can add it.
// The path of the DNS settings, `dns_settings`, comes from the npm package `cloudflare`, because the description does
// not show it.
//
// Only this file says where a change applies: routes of older forms, headers and the report follow it. Operations
// marked as inferred are not in the description: lists of settings that contain a retired setting, and operations that
// have `notification_email` in that package.

import type { FieldRule, Operation, Schedule, ScheduleEntry } from './entry.ts';

const ZONE = '/zones/:zone_id';
const ACCOUNT = '/accounts/:account_id';
const ORGANIZATION = '/organizations/:organization_id';
const CONNECTORS = `${ORGANIZATION}/legacy_connector`;
const WAF = `${ZONE}/firewall/waf`;

function operationsOn(path: string, methods: string): Operation[] {
  return methods.split(' ').map((method) => ({ method: method as Operation['method'], path }));
}

function inferredOperations(path: string, methods: string): Operation[] {
  return operationsOn(path, methods).map((operation) => ({ ...operation, inferred: true }));
}

function inBodies(path: string, rest: Omit<FieldRule, 'in' | 'path'> = {}): FieldRule[] {
  return [
    { in: 'request', path, ...rest },
    { in: 'result', path, ...rest },
  ];
}

const RECORDS = [
  ...operationsOn(`${ZONE}/dns_records`, 'GET POST'),
  ...operationsOn(`${ZONE}/dns_records/:dns_record_id`, 'GET PATCH PUT'),
];

const POOLS = [`${ACCOUNT}/load_balancers/pools`, '/user/load_balancers/pools'].flatMap((path) => [
  ...inferredOperations(path, 'GET POST PATCH'),
  ...inferredOperations(`${path}/:pool_id`, 'GET PATCH PUT'),
]);

/** Earlier dates on which the rules were to end. It is unknown when these dates were published. */
const EARLIER_DATES = [
  { date: '2024-07-01', source: 'issues of the Terraform provider and its documentation' },
  { date: '2025-01-15', source: 'issues of the Terraform provider and its documentation' },
] as const;

function setting(name: string, methods = 'GET PATCH'): Operation[] {
  return operationsOn(`${ZONE}/settings/${name}`, methods);
}

/** Describes how a retired setting leaves the list of all settings when its own operations end. */
function inListOfSettings(id: string): Pick<ScheduleEntry, 'affected' | 'fields'> {
  return {
    affected: inferredOperations(`${ZONE}/settings`, 'GET PATCH'),
    fields: settingInBodies(id),
  };
}

function settingInBodies(id: string): FieldRule[] {
  return [
    { in: 'request', path: 'items[].id', equals: id },
    { in: 'result', path: 'id', equals: id },
  ];
}

const SHIELD_METHODS = 'GET POST PUT PATCH DELETE';

const ENTRIES: ScheduleEntry[] = [
  {
    id: 'organizations',
    title: 'Organizations',
    date: '2020-04-02',
    kind: 'replaced',
    operations: [
      ...operationsOn('/organizations/:organization_id', 'GET PATCH'),
      ...operationsOn(`${ORGANIZATION}/invites`, 'GET POST'),
      ...operationsOn(`${ORGANIZATION}/invites/:identifier`, 'GET PATCH DELETE'),
      ...operationsOn(`${ORGANIZATION}/members`, 'GET'),
      ...operationsOn(`${ORGANIZATION}/members/:identifier`, 'GET PATCH DELETE'),
      ...operationsOn(`${ORGANIZATION}/roles`, 'GET'),
      ...operationsOn(`${ORGANIZATION}/roles/:identifier`, 'GET'),
      ...operationsOn(`${ORGANIZATION}/audit_logs`, 'GET'),
      ...operationsOn(CONNECTORS, 'GET POST'),
      ...operationsOn(`${CONNECTORS}/:identifier`, 'GET PATCH DELETE'),
      ...operationsOn(`${CONNECTORS}/:identifier/zones`, 'GET'),
    ],
    replacement: { text: 'the accounts API, which is broader and backward compatible' },
    note: 'legacy_connector stands for a path segment with the name of a product.',
  },
  {
    id: 'zone-analytics',
    title: 'Zone analytics',
    date: '2021-03-01',
    kind: 'replaced',
    operations: [
      ...operationsOn(`${ZONE}/analytics/dashboard`, 'GET'),
      ...operationsOn(`${ZONE}/analytics/colos`, 'GET'),
    ],
    replacement: { text: 'the GraphQL analytics API, which returns only the metrics asked for' },
  },
  {
    id: 'image-direct-upload-v1',
    title: 'Image direct upload v1',
    date: '2022-07-01',
    kind: 'replaced',
    operations: operationsOn(`${ACCOUNT}/images/v1/direct_upload`, 'POST'),
    replacement: {
      text: 'image direct upload v2, which sets metadata and access and returns the id of the image',
      operations: operationsOn(`${ACCOUNT}/images/v2/direct_upload`, 'POST'),
    },
  },
  {
    id: 'script-monitor',
    title: 'Page protection routes',
    date: '2022-10-11',
    kind: 'path-renamed',
    operations: operationsOn(`${ZONE}/script_monitor/*`, SHIELD_METHODS),
    replacement: {
      text: 'the segment page_shield in place of script_monitor',
      operations: operationsOn(`${ZONE}/page_shield/*`, SHIELD_METHODS),
    },
  },
  {
    id: 'access-bookmarks',
    title: 'Access bookmarks',
    date: '2023-03-19',
    kind: 'replaced',
    operations: [
      ...operationsOn(`${ACCOUNT}/access/bookmarks`, 'GET'),
      ...operationsOn(`${ACCOUNT}/access/bookmarks/:uuid`, 'GET POST PUT DELETE'),
    ],
    replacement: { text: 'access applications with their app type' },
  },
  {
    id: 'notification-email',
    title: 'Notification addresses of load balancer pools',
    date: '2023-04-03',
    kind: 'field-removed',
    operations: [],
    affected: POOLS,
    fields: inBodies('notification_email'),
    replacement: { text: "the provider's central notification service" },
  },
  {
    id: 'billing',
    title: 'Billing profile and history',
    date: '2023-06-06',
    kind: 'removed',
    operations: [
      ...operationsOn(`${ACCOUNT}/billing/profile`, 'GET'),
      ...operationsOn('/user/billing/profile', 'GET'),
      ...operationsOn('/user/billing/history', 'GET'),
    ],
    note: 'The data is shown in the account dashboard.',
  },
  {
    id: 'transfer-encoding-content-length',
    title: 'Transfer-Encoding together with Content-Length',
    date: '2023-07-01',
    kind: 'transport',
    operations: [],
    note: 'A request with both headers is declined; RFC 7230 forbids the combination.',
  },
  {
    id: 'chacha20-draft-suites',
    title: 'Draft ChaCha20-Poly1305 cipher suites of TLS',
    date: '2023-07-01',
    kind: 'transport',
    operations: [],
    replacement: { text: 'the standard suites of RFC 7905, or any other suite' },
    note:
      'End of life on this date, removed in the first quarter of 2024; then requests that use them ' +
      'fail. Configuration is not affected.',
  },
  {
    id: 'tunnels',
    title: 'Tunnels',
    date: '2024-02-04',
    kind: 'replaced',
    operations: [
      ...operationsOn(`${ACCOUNT}/tunnels`, 'GET POST'),
      ...operationsOn(`${ACCOUNT}/tunnels/:tunnel_id`, 'GET DELETE'),
    ],
    replacement: { text: "the tunnel product's own API" },
    note: 'The description does not show that API, and the emulator does not have it.',
  },
  {
    id: 'privacy-pass',
    title: 'Setting privacy_pass',
    date: '2024-03-31',
    kind: 'removed',
    operations: setting('privacy_pass', 'GET POST'),
    ...inListOfSettings('privacy_pass'),
    note: 'The legacy tokens ended as an alternative to challenges in September 2023.',
  },
  {
    id: 'srv-data-fields',
    title: 'Name fields in the data of SRV records',
    date: '2024-05-31',
    kind: 'field-refused',
    operations: [],
    affected: RECORDS,
    fields: ['service', 'proto', 'name'].flatMap((field) =>
      inBodies(`data.${field}`, { when: { path: 'type', equals: 'SRV' } }),
    ),
    replacement: { text: 'the outer name of the record alone', fields: ['name'] },
    note: 'Not shown from this date on; sending any of them is an error.',
  },
  {
    id: 'server-side-exclude',
    title: 'Setting server_side_exclude',
    date: '2024-06-14',
    kind: 'removed',
    operations: setting('server_side_exclude'),
    ...inListOfSettings('server_side_exclude'),
  },
  {
    id: 'mobile-redirect',
    title: 'Setting mobile_redirect',
    date: '2024-06-30',
    kind: 'replaced',
    operations: setting('mobile_redirect'),
    ...inListOfSettings('mobile_redirect'),
    replacement: { text: 'single redirects' },
  },
  {
    id: 'dns-record-locked',
    title: 'Field locked of DNS records',
    date: '2024-07-14',
    kind: 'field-removed',
    operations: [],
    affected: RECORDS,
    fields: [{ in: 'result', path: 'locked' }],
    note: 'It was always false; it is ignored when sent.',
  },
  {
    id: 'minify',
    title: 'Setting minify',
    date: '2024-08-05',
    kind: 'removed',
    operations: setting('minify'),
    ...inListOfSettings('minify'),
  },
  {
    id: 'brotli',
    title: 'Setting brotli',
    date: '2024-08-15',
    kind: 'removed',
    operations: setting('brotli'),
    ...inListOfSettings('brotli'),
    note: 'Enterprise zones can override the default with compression rules.',
  },
  {
    id: 'dedicated-dns-settings',
    title: 'Dedicated operations of DNS settings',
    date: '2024-09-13',
    kind: 'value-moved',
    operations: [
      ...operationsOn(`${ZONE}/dns_settings/use_apex_ns`, 'GET PATCH'),
      ...operationsOn(`${ZONE}/dns_settings/secondary_overrides`, 'GET PATCH'),
    ],
    replacement: {
      text: 'DNS settings of the zone',
      operations: operationsOn(`${ZONE}/dns_settings`, 'GET PATCH'),
      fields: ['multi_provider', 'secondary_overrides'],
    },
  },
  {
    id: 'dns-validation-error-chain',
    title: 'Errors of invalid DNS records',
    date: '2024-10-01',
    kind: 'error-shape',
    operations: [],
    affected: operationsOn(`${ZONE}/dns_records`, 'POST'),
    fields: [{ in: 'errors', path: 'error_chain' }],
    replacement: { text: 'the root cause in errors, with its own code and message' },
    note: 'Before, code 1004 wraps the cause, which is in error_chain.',
  },
  {
    id: 'dns-record-zone-fields',
    title: 'Fields zone_id and zone_name of DNS records',
    date: '2024-11-30',
    kind: 'field-removed',
    operations: [],
    affected: RECORDS,
    fields: [
      { in: 'result', path: 'zone_id' },
      { in: 'result', path: 'zone_name' },
    ],
    replacement: { text: 'the zone, which shows its name', operations: operationsOn(ZONE, 'GET') },
    note: 'Both are ignored when sent.',
  },
  {
    id: 'account-nameservers',
    title: 'Default nameserver fields of accounts',
    date: '2025-03-14',
    kind: 'value-moved',
    operations: [],
    affected: [...operationsOn('/accounts', 'GET POST'), ...operationsOn(ACCOUNT, 'GET PUT')],
    fields: ['default_nameservers', 'use_account_custom_ns_by_default'].flatMap((field) =>
      inBodies(`settings.${field}`),
    ),
    replacement: {
      text: 'DNS settings of the account',
      operations: operationsOn(`${ACCOUNT}/dns_settings`, 'GET PATCH'),
      fields: ['zone_defaults.nameservers.type'],
    },
  },
  {
    id: 'cname-flattening',
    title: 'Setting cname_flattening',
    date: '2025-03-21',
    kind: 'value-moved',
    operations: setting('cname_flattening'),
    affected: operationsOn(`${ZONE}/settings`, 'GET PATCH'),
    fields: settingInBodies('cname_flattening'),
    replacement: {
      text: 'DNS settings of the zone',
      operations: operationsOn(`${ZONE}/dns_settings`, 'GET PATCH'),
      fields: ['flatten_all_cnames'],
    },
    note: 'off and apex are false, on is true.',
  },
  {
    id: 'firewall-rules',
    title: 'Firewall rules and filters',
    date: '2025-06-15',
    kind: 'replaced',
    operations: [
      ...operationsOn(`${ZONE}/firewall/rules`, 'GET POST PATCH PUT DELETE'),
      ...operationsOn(`${ZONE}/firewall/rules/:rule_id`, 'GET PATCH PUT DELETE'),
      ...operationsOn(`${ZONE}/filters`, 'GET POST PUT DELETE'),
      ...operationsOn(`${ZONE}/filters/:filter_id`, 'GET PUT DELETE'),
    ],
    replacement: { text: 'WAF custom rules' },
    history: EARLIER_DATES,
  },
  {
    id: 'waf-managed-rules',
    title: 'WAF managed rules, previous version',
    date: '2025-06-15',
    kind: 'replaced',
    operations: [
      ...operationsOn(`${WAF}/packages`, 'GET'),
      ...operationsOn(`${WAF}/packages/:package_id`, 'GET PATCH'),
      ...operationsOn(`${WAF}/packages/:package_id/groups`, 'GET'),
      ...operationsOn(`${WAF}/packages/:package_id/groups/:group_id`, 'GET PATCH'),
      ...operationsOn(`${WAF}/packages/:package_id/rules`, 'GET'),
      ...operationsOn(`${WAF}/packages/:package_id/rules/:rule_id`, 'GET PATCH'),
      ...operationsOn(`${WAF}/overrides`, 'GET POST'),
      ...operationsOn(`${WAF}/overrides/:override_id`, 'GET PUT DELETE'),
    ],
    replacement: { text: 'the new version of WAF managed rules' },
    history: EARLIER_DATES,
  },
  {
    id: 'rate-limits',
    title: 'Rate limiting, previous version',
    date: '2025-06-15',
    kind: 'replaced',
    operations: [
      ...operationsOn(`${ZONE}/rate_limits`, 'GET POST'),
      ...operationsOn(`${ZONE}/rate_limits/:rate_limit_id`, 'GET PUT DELETE'),
    ],
    replacement: { text: 'the new rate limiting rules, based on the ruleset engine' },
    history: EARLIER_DATES,
  },
];

/** Every change of the interface that the published description contains: 25 entries on 22 days. */
export const SCHEDULE: Schedule = ENTRIES;
