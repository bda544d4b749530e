// Until 2024-09-13 `use_apex_ns` and `secondary_overrides` are operations of their own; since then they
// are the fields `multi_provider` and `secondary_overrides` of the DNS settings.
//
// The description does not show their bodies; the emulator reads and answers `{ "enabled": boolean }`.

import { apiError } from '../call/call.ts';
import { matchPath } from '../schedule/paths.ts';
import { type Change, eachResult, type Fields, movedPath } from './change.ts';

const DNS_SETTINGS = '/zones/:zone_id/dns_settings';

export const dnsSettingsOperations: Change = {
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
