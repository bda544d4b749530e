// Zone settings that exist until their date, alone and in the list of all settings.

import type { Call } from '../call/call.ts';
import { settingFeature } from '../resources/zone-settings.ts';
import { admit, type Change } from './change.ts';

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

export const retiredSettings: readonly Change[] = [
  privacyPass,
  retired('server_side_exclude', 'server-side-exclude'),
  retired('mobile_redirect', 'mobile-redirect'),
  retired('minify', 'minify'),
  retired('brotli', 'brotli'),
];
