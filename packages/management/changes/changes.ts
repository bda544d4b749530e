// The dated changes of the interface. Those of a few lines are here, the others have files of their own.

import { type Answer, apiError, type Call } from '../call/call.ts';
import { ERRORS, type ErrorEntry } from '../call/error-codes.ts';
import { NOTIFICATION_EMAIL } from '../resources/pools.ts';
import { settingFeature } from '../resources/zone-settings.ts';
import { matchPath } from '../schedule/paths.ts';
import { accountNameservers } from './account-nameservers.ts';
import { admit, type Change, eachResult, type Fields, movedPath } from './change.ts';
import { cnameFlattening } from './cname-flattening.ts';
import { srvNameFields } from './srv-name-fields.ts';

const IMAGES = '/accounts/:account_id/images';

/** `page_shield` is named `script_monitor` until 2022-10-11. */
const scriptMonitor: Change = {
  id: 'script-monitor',
  request: (call) => ({
    ...call,
    path: movedPath(call.path, '/zones/:zone_id/script_monitor/*', '/zones/:zone_id/page_shield/*'),
  }),
};

/** Image uploads are v1 until 2022-07-01, which cannot set metadata, access or id, and does not return the id. */
const imageUpload: Change = {
  id: 'image-direct-upload-v1',
  request: (call) => {
    const { expiry } = (call.body ?? {}) as Fields;
    const path = movedPath(call.path, `${IMAGES}/v1/*`, `${IMAGES}/v2/*`);
    return { ...call, path, body: expiry === undefined ? {} : { expiry } };
  },
  response: (answer) => eachResult(answer, ({ uploadURL }) => ({ uploadURL })),
};

/** Until 2023-04-03 load balancer pools have `notification_email`: one address, or several separated by commas. */
const notificationEmail: Change = {
  id: 'notification-email',
  request: (call) => admit(call, NOTIFICATION_EMAIL),
};

/** Until 2024-07-14 DNS records show `locked`, always false. On every day it is ignored in requests. */
const recordLocked: Change = {
  id: 'dns-record-locked',
  response: (answer) => eachResult(answer, (record) => ({ ...record, locked: false })),
};

/** Until 2024-11-30 DNS records show `zone_id` and `zone_name`. On every day they are ignored in requests. */
const recordZone: Change = {
  id: 'dns-record-zone-fields',
  response: (answer, { zone }) =>
    eachResult(answer, (record) => ({ ...record, zone_id: zone!.id, zone_name: zone!.name })),
};

const DNS_SETTINGS = '/zones/:zone_id/dns_settings';

/**
 * Until 2024-09-13 `use_apex_ns` and `secondary_overrides` are operations of their own; since then they
 * are the fields `multi_provider` and `secondary_overrides` of the DNS settings.
 *
 * The description does not show their bodies; the emulator reads and answers `{ "enabled": boolean }`.
 */
const dnsSettingsOperations: Change = {
  id: 'dedicated-dns-settings',
  request(call) {
    const path = movedPath(call.path, `${DNS_SETTINGS}/:operation`, DNS_SETTINGS);
    if (call.method === 'GET') return { ...call, path };
    const enabled = (call.body as Fields | undefined)?.enabled;
    if (typeof enabled !== 'boolean') {
      const name = enabled === undefined ? 'FIELD_MISSING' : 'FIELD_INVALID';
      throw apiError(name, 'enabled must be true or false.', '/enabled');
    }
    return { ...call, path, body: { [fieldOf(call.path)]: enabled } };
  },

  response: (answer, call) =>
    eachResult(answer, (settings) => ({ enabled: settings[fieldOf(call.path)] })),
};

function fieldOf(path: string): string {
  const isApex = matchPath(`${DNS_SETTINGS}/use_apex_ns`, path) !== undefined;
  return isApex ? 'multi_provider' : 'secondary_overrides';
}

const FORM_CODES: ReadonlySet<number> = new Set(
  [
    ERRORS.RECORD_NAME,
    ERRORS.RECORD_TYPE,
    ERRORS.RECORD_FIELD,
    ERRORS.RECORD_CONTENT,
    ERRORS.RECORD_TTL,
    ERRORS.RECORD_DATA,
    ERRORS.SRV_FIELD_REFUSED,
  ].map(({ code }) => code),
);

/** Until 2024-10-01 an invalid DNS record is refused with code 1004, and the cause is in `error_chain`. */
const dnsErrorChain: Change = {
  id: 'dns-validation-error-chain',
  response: (answer) =>
    isInvalidRecord(answer) ? { ...answer, errors: [wrap(answer.errors)] } : answer,
};

function isInvalidRecord({ errors }: Answer): boolean {
  return errors.length > 0 && errors.every(({ code }) => FORM_CODES.has(code));
}

function wrap(causes: readonly ErrorEntry[]): ErrorEntry {
  const { code } = ERRORS.DNS_VALIDATION;
  return { code, message: 'DNS Validation Error', error_chain: causes };
}

/** A zone setting that exists until its date, alone and in the list of all settings. */
function retired(setting: string, id: string): Change {
  return { id, request: (call) => admit(call, settingFeature(setting)) };
}

/** Unlike other settings, this one is written with POST. */
const privacyPass: Change = {
  id: 'privacy-pass',
  request: (call) => {
    const method = call.method === 'POST' ? 'PATCH' : call.method;
    return admit({ ...call, method } satisfies Call, settingFeature('privacy_pass'));
  },
};

const retiredSettings: readonly Change[] = [
  privacyPass,
  retired('server_side_exclude', 'server-side-exclude'),
  retired('mobile_redirect', 'mobile-redirect'),
  retired('minify', 'minify'),
  retired('brotli', 'brotli'),
];

/** All changes. */
export const CHANGES: readonly Change[] = [
  imageUpload,
  scriptMonitor,
  notificationEmail,
  srvNameFields,
  recordLocked,
  dnsSettingsOperations,
  dnsErrorChain,
  recordZone,
  accountNameservers,
  cnameFlattening,
  ...retiredSettings,
];
