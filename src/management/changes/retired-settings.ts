// Zone settings that exist until their date: reading and writing one, and their place among all.

import { settingFeature } from '../resources/zone-settings.ts';
import { admit, type Change } from './change.ts';

const ALL = '/zones/:zone_id/settings';

function retired(setting: string, id: string): Change {
  return {
    id,
    operations: [`GET ${ALL}`, `PATCH ${ALL}`, `GET ${ALL}/${setting}`, `PATCH ${ALL}/${setting}`],
    request: (call) => admit(call, settingFeature(setting)),
  };
}

const privacyPassEntry = retired('privacy_pass', 'privacy-pass');

/** This one is written by POST; PATCH works as for every setting. */
const privacyPass: Change = {
  ...privacyPassEntry,
  operations: [...privacyPassEntry.operations, `POST ${ALL}/privacy_pass`],
  request: (call) => {
    const method = call.method === 'POST' ? 'PATCH' : call.method;
    return admit({ ...call, method }, settingFeature('privacy_pass'));
  },
};

export const retiredSettings: readonly Change[] = [
  privacyPass,
  retired('server_side_exclude', 'server-side-exclude'),
  retired('mobile_redirect', 'mobile-redirect'),
  retired('minify', 'minify'),
  retired('brotli', 'brotli'),
];
