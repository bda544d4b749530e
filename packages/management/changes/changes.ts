// All dated changes of the interface. A change of a few lines is defined here, any other in a file of its own.

import { type Answer, apiError, type Call } from '../call/call.ts';
import { ERRORS, type ErrorEntry } from '../call/error-codes.ts';
import { NOTIFICATION_EMAIL } from '../resources/pools.ts';
import { settingFeature } from '../resources/zone-settings.ts';
import { matchPath } from '../schedule/paths.ts';
import { accountNameservers } from './account-nameservers.ts';
import { admitFeature, type Change, convertPath, type Fields, mapResult } from './change.ts';
import { cnameFlattening } from './cname-flattening.ts';
import { srvNameFields } from './srv-name-fields.ts';

const IMAGES = '/accounts/:account_id/images';

/** Until 2022-10-11, `page_shield` is named `script_monitor`. */
const scriptMonitor: Change = {
  id: 'script-monitor',
  request: (call) => ({
    ...call,
    path: convertPath(
      call.path,
      '/zones/:zone_id/script_monitor/*',
      '/zones/:zone_id/page_shield/*',
    ),
  }),
};

/**
 * Until 2022-07-01, image uploads are version 1, which cannot set metadata, access or id, and does not return the id.
 */
const imageUpload: Change = {
  id: 'image-direct-upload-v1',
  request: (call) => {
    const { expiry } = (call.body ?? {}) as Fields;
    const path = convertPath(call.path, `${IMAGES}/v1/*`, `${IMAGES}/v2/*`);
    return { ...call, path, body: expiry === undefined ? {} : { expiry } };
  },
  response: (answer) => mapResult(answer, ({ uploadURL }) => ({ uploadURL })),
};

/** Until 2023-04-03, load balancer pools have `notification_email`: one address, or several separated by commas. */
const notificationEmail: Change = {
  id: 'notification-email',
  request: (call) => admitFeature(call, NOTIFICATION_EMAIL),
};

/**
 * Until 2024-07-14, answers contain the field `locked` of DNS records, which is always false. In requests it is always
 * ignored.
 */
const recordLocked: Change = {
  id: 'dns-record-locked',
  response: (answer) => mapResult(answer, (record) => ({ ...record, locked: false })),
};

/**
 * Until 2024-11-30, answers contain the fields `zone_id` and `zone_name` of DNS records. In requests they are always
 * ignored.
 */
const recordZone: Change = {
  id: 'dns-record-zone-fields',
  response: (answer, { zone }) =>
    mapResult(answer, (record) => ({ ...record, zone_id: zone!.id, zone_name: zone!.name })),
};

const DNS_SETTINGS = '/zones/:zone_id/dns_settings';

/**
 * Until 2024-09-13, `use_apex_ns` and `secondary_overrides` are operations of their own; since then they are the fields
 * `multi_provider` and `secondary_overrides` of the DNS settings.
 *
 * The provider's published description does not show their bodies; the emulator reads and answers `{ "enabled": boolean
 * }`.
 */
const dnsSettingsOperations: Change = {
  id: 'dedicated-dns-settings',
  request(call) {
    const path = convertPath(call.path, `${DNS_SETTINGS}/:operation`, DNS_SETTINGS);
    if (call.method === 'GET') return { ...call, path };
    const enabled = (call.body as Fields | undefined)?.enabled;
    if (typeof enabled !== 'boolean') {
      const name = enabled === undefined ? 'FIELD_MISSING' : 'FIELD_INVALID';
      throw apiError(name, 'enabled must be true or false.', '/enabled');
    }
    return { ...call, path, body: { [fieldOf(call.path)]: enabled } };
  },

  response: (answer, call) =>
    mapResult(answer, (settings) => ({ enabled: settings[fieldOf(call.path)] })),
};

function fieldOf(path: string): string {
  const isApex = matchPath(`${DNS_SETTINGS}/use_apex_ns`, path) !== undefined;
  return isApex ? 'multi_provider' : 'secondary_overrides';
}

const INVALID_RECORD_CODES: ReadonlySet<number> = new Set(
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

/** Until 2024-10-01, an invalid DNS record is refused with code 1004, and its cause is in `error_chain`. */
const dnsErrorChain: Change = {
  id: 'dns-validation-error-chain',
  response: (answer) =>
    isInvalidRecord(answer) ? { ...answer, errors: [wrapCauses(answer.errors)] } : answer,
};

function isInvalidRecord({ errors }: Answer): boolean {
  return errors.length > 0 && errors.every(({ code }) => INVALID_RECORD_CODES.has(code));
}

function wrapCauses(causes: readonly ErrorEntry[]): ErrorEntry {
  const { code } = ERRORS.DNS_VALIDATION;
  return { code, message: 'DNS Validation Error', error_chain: causes };
}

/** Makes the change of a zone setting that ends on its date, as an operation and in the list of all settings. */
function retiredSetting(setting: string, id: string): Change {
  return { id, request: (call) => admitFeature(call, settingFeature(setting)) };
}

/** The setting `privacy_pass` is written with POST, while all other settings are written with PATCH. */
const privacyPass: Change = {
  id: 'privacy-pass',
  request: (call) => {
    const method = call.method === 'POST' ? 'PATCH' : call.method;
    return admitFeature({ ...call, method } satisfies Call, settingFeature('privacy_pass'));
  },
};

const retiredSettings: readonly Change[] = [
  privacyPass,
  retiredSetting('server_side_exclude', 'server-side-exclude'),
  retiredSetting('mobile_redirect', 'mobile-redirect'),
  retiredSetting('minify', 'minify'),
  retiredSetting('brotli', 'brotli'),
];

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
