// Tests that the schedule contains everything in the provider's published description, and nothing else.

import { describe, expect, test } from 'vitest';
import { SCHEDULE } from './data.ts';
import { defineSchedule } from './define-schedule.ts';
import type { Operation } from './entry.ts';
import { datesOf, lookup } from './lookup.ts';
import { normalPath } from './paths.ts';

/** The date, methods and path of each group of operations that end, as the published description spells them. */
const ENDING = `
2025-06-15 GET,POST,PATCH,PUT,DELETE /zones/:zone_id/firewall/rules
2025-06-15 GET,PATCH,PUT,DELETE /zones/:zone_id/firewall/rules/:rule_id
2025-06-15 GET,POST,PUT,DELETE /zones/:zone_id/filters
2025-06-15 GET,PUT,DELETE /zones/:zone_id/filters/:filter_id
2025-06-15 GET /zones/:zone_id/firewall/waf/packages
2025-06-15 GET,PATCH /zones/:zone_id/firewall/waf/packages/:package_id
2025-06-15 GET /zones/:zone_id/firewall/waf/packages/:package_id/groups
2025-06-15 GET,PATCH /zones/:zone_id/firewall/waf/packages/:package_id/groups/:group_id
2025-06-15 GET /zones/:zone_id/firewall/waf/packages/:package_id/rules
2025-06-15 GET,PATCH /zones/:zone_id/firewall/waf/packages/:package_id/rules/:rule_id
2025-06-15 GET,POST /zones/:zone_id/firewall/waf/overrides
2025-06-15 GET,PUT,DELETE /zones/:zone_id/firewall/waf/overrides/:override_id
2025-06-15 GET,POST /zones/:zone_id/rate_limits
2025-06-15 GET,PUT,DELETE /zones/:zone_id/rate_limits/:rate_limit_id
2025-03-21 GET,PATCH /zones/:zone_id/settings/cname_flattening
2024-09-13 GET,PATCH /zones/:zone_id/dns_settings/use_apex_ns
2024-09-13 GET,PATCH /zones/:zone_id/dns_settings/secondary_overrides
2024-06-30 GET,PATCH /zones/:zone_identifier/settings/mobile_redirect
2024-02-04 GET,POST accounts/:account_identifier/tunnels
2024-02-04 GET,DELETE accounts/:account_identifier/tunnels/:tunnel_id
2023-03-19 GET accounts/:identifier/access/bookmarks
2023-03-19 GET,POST,PUT,DELETE accounts/:identifier/access/bookmarks/:uuid
2022-10-11 GET,POST,PUT,PATCH,DELETE /zones/:zone_id/script_monitor/*
2022-07-01 POST accounts/:account_identifier/images/v1/direct_upload
2021-03-01 GET zones/:zone_identifier/analytics/dashboard
2021-03-01 GET zones/:zone_identifier/analytics/colos
2020-04-02 GET,PATCH organizations/:identifier
2020-04-02 GET,POST organizations/:organization_identifier/invites
2020-04-02 GET,PATCH,DELETE organizations/:organization_identifier/invites/:identifier
2020-04-02 GET organizations/:organization_identifier/members
2020-04-02 GET,PATCH,DELETE organizations/:organization_identifier/members/:identifier
2020-04-02 GET organizations/:organization_identifier/roles
2020-04-02 GET organizations/:organization_identifier/roles/:identifier
2020-04-02 GET organizations/:organization_identifier/audit_logs
2020-04-02 GET,POST organizations/:organization_identifier/<legacy_connector>
2020-04-02 GET,PATCH,DELETE organizations/:organization_identifier/<legacy_connector>/:identifier
2020-04-02 GET organizations/:organization_identifier/<legacy_connector>/:identifier/zones
2024-03-31 GET,POST zones/:zone_identifier/settings/privacy_pass
2024-08-15 GET,PATCH /zones/:zone_id/settings/brotli
2024-08-05 GET,PATCH /zones/:zone_id/settings/minify
2024-06-14 GET,PATCH /zones/:zone_id/settings/server_side_exclude
2023-06-06 GET accounts/{account_identifier}/billing/profile
2023-06-06 GET user/billing/profile
2023-06-06 GET user/billing/history
`;

const AFFECTED = `
2025-03-21 GET,PATCH /zones/:zone_id/settings
2025-03-14 GET,POST /accounts
2025-03-14 GET,PUT /accounts/:account_id
2024-11-30 GET,POST /zones/:zone_id/dns_records
2024-11-30 GET,PATCH,PUT /zones/:zone_id/dns_records/:dns_record_id
2024-07-14 GET,POST /zones/:zone_id/dns_records
2024-07-14 GET,PATCH,PUT /zones/:zone_id/dns_records/:dns_record_id
2024-05-31 GET,POST /zones/:zone_id/dns_records
2024-05-31 GET,PATCH,PUT /zones/:zone_id/dns_records/:dns_record_id
2024-10-01 POST /zones/:zone_id/dns_records
`;

/**
 * Operations that the published description does not list: it gives a field without its operations, or a setting
 * without the list that contains it.
 */
const INFERRED = `
2023-04-03 GET,POST,PATCH /accounts/:account_id/load_balancers/pools
2023-04-03 GET,PATCH,PUT /accounts/:account_id/load_balancers/pools/:pool_id
2023-04-03 GET,POST,PATCH /user/load_balancers/pools
2023-04-03 GET,PATCH,PUT /user/load_balancers/pools/:pool_id
2024-03-31 GET,PATCH /zones/:zone_id/settings
2024-06-14 GET,PATCH /zones/:zone_id/settings
2024-06-30 GET,PATCH /zones/:zone_id/settings
2024-08-05 GET,PATCH /zones/:zone_id/settings
2024-08-15 GET,PATCH /zones/:zone_id/settings
`;

const DATES = `
2025-06-15 2025-03-21 2025-03-14 2024-11-30 2024-10-01 2024-09-13 2024-08-15 2024-08-05 2024-07-14
2024-06-30 2024-06-14 2024-05-31 2024-03-31 2024-02-04 2023-07-01 2023-06-06 2023-04-03 2023-03-19
2022-10-11 2022-07-01 2021-03-01 2020-04-02
`;

const FIELDS = `
2023-04-03 request notification_email
2023-04-03 result notification_email
2024-05-31 request data.service
2024-05-31 result data.service
2024-05-31 request data.proto
2024-05-31 result data.proto
2024-05-31 request data.name
2024-05-31 result data.name
2024-03-31 request items[].id
2024-03-31 result id
2024-06-14 request items[].id
2024-06-14 result id
2024-06-30 request items[].id
2024-06-30 result id
2024-07-14 result locked
2024-08-05 request items[].id
2024-08-05 result id
2024-08-15 request items[].id
2024-08-15 result id
2024-10-01 errors error_chain
2024-11-30 result zone_id
2024-11-30 result zone_name
2025-03-14 request settings.default_nameservers
2025-03-14 result settings.default_nameservers
2025-03-14 request settings.use_account_custom_ns_by_default
2025-03-14 result settings.use_account_custom_ns_by_default
2025-03-21 request items[].id
2025-03-21 result id
`;

function lines(text: string): string[] {
  return text.trim().split('\n');
}

/** Returns lines such as `2025-06-15 GET /zones/:/filters`, without the names of parameters. */
function facts(text: string): string[] {
  return lines(text).flatMap((line) => {
    const [date, methods, path] = line.split(' ') as [string, string, string];
    return methods.split(',').map((method) => `${date} ${method} ${nameless(normalPath(path))}`);
  });
}

function inData(pick: 'operations' | 'affected', isInferred = false): string[] {
  return SCHEDULE.flatMap(({ date, [pick]: operations = [] }) =>
    operations
      .filter(({ inferred = false }) => inferred === isInferred)
      .map(({ method, path }: Operation) => `${date} ${method} ${nameless(path)}`),
  );
}

function nameless(path: string): string {
  return path.replace(/:\w+/g, ':');
}

describe('the schedule', () => {
  test('[SCHED1] every operation that ends is in the data with its date, and no other', () => {
    expect(inData('operations').sort()).toEqual(facts(ENDING).sort());
    expect(facts(ENDING)).toHaveLength(91);
  });

  test('[SCHED1] every operation that changes is in the data with its date, and no other', () => {
    expect(inData('affected').sort()).toEqual(facts(AFFECTED).sort());
    expect(inData('affected', true).sort()).toEqual(facts(INFERRED).sort());
    expect(inData('operations', true)).toEqual([]);
  });

  test('[SCHED1] every field is in the data with its date', () => {
    const found = SCHEDULE.flatMap(({ date, fields = [] }) =>
      fields.map((field) => `${date} ${field.in} ${field.path}`),
    );
    expect(found.sort()).toEqual(lines(FIELDS).sort());
  });

  test('[SCHED1] there are 22 dates, and 25 entries on them', () => {
    const expected = DATES.trim().split(/\s+/).sort();
    expect(datesOf()).toEqual(expected);
    expect(expected).toHaveLength(22);
    expect(SCHEDULE).toHaveLength(25);
    expect(SCHEDULE.filter(({ date }) => date === '2023-07-01')).toHaveLength(2);
  });

  test('[SCHED1] every ending operation works the day before and is gone on its day', () => {
    for (const fact of lines(ENDING)) {
      const [date, methods, path] = fact.split(' ') as [string, string, string];
      const concrete = path.replace(/[:{][\w]+}?/g, 'a1').replace('/*', '/scripts/a2');
      const dayBefore = Date.parse(date) - 1;
      for (const method of methods.split(',')) {
        expect(lookup(method, concrete, date).state, fact).toBe('gone');
        expect(lookup(method, concrete, dayBefore).state, fact).toBe('deprecated');
      }
    }
  });

  test('[SCHED2] the data passes its own check', () => {
    expect(defineSchedule([], SCHEDULE)).toEqual(SCHEDULE);
  });

  test('[SCHED1] all entries but these seven name the replacement of the old form', () => {
    const without = SCHEDULE.filter(({ replacement }) => !replacement).map(({ id }) => id);
    expect(without).toEqual([
      'billing',
      'transfer-encoding-content-length',
      'privacy-pass',
      'server-side-exclude',
      'dns-record-locked',
      'minify',
      'brotli',
    ]);
  });
});
