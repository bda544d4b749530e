// Zone settings that exist until their date: reading and writing one, and their place among all.

import type { Call } from '../call/call.ts';
import { settingFeature } from '../resources/zone-settings.ts';
import { admit, type Change } from './change.ts';

function retired(setting: string, id: string): Change {
  return { id, request: (call) => admit(call, settingFeature(setting)) };
}

/** This one is written by POST where every setting is patched. */
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
