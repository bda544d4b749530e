// Until 2024-09-13 `use_apex_ns` and `secondary_overrides` are operations of their own; now they are the
// fields `multi_provider` and `secondary_overrides` of the DNS settings.
//
// Their bodies are not shown; here they are `{ "enabled": boolean }` both ways.

import { apiError } from '../call/call.ts';
import { type Change, eachResult, type Fields } from './change.ts';

export const dnsSettingsOperations: Change = {
  id: 'dedicated-dns-settings',
  request(call) {
    const path = call.path.slice(0, call.path.lastIndexOf('/'));
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
  return path.endsWith('/use_apex_ns') ? 'multi_provider' : 'secondary_overrides';
}
