// Paths that had another name: `script_monitor` until 2022-10-11, image uploads v1 until 2022-07-01.

import { type Change, eachResult, type Fields, movedPath } from './change.ts';

const IMAGES = '/accounts/:account_id/images';

export const scriptMonitor: Change = {
  id: 'script-monitor',
  request: (call) => ({
    ...call,
    path: movedPath(call.path, '/zones/:zone_id/script_monitor/*', '/zones/:zone_id/page_shield/*'),
  }),
};

/** v1 cannot set metadata, access or id, and does not return the id. */
export const imageUpload: Change = {
  id: 'image-direct-upload-v1',
  request: (call) => {
    const { expiry } = (call.body ?? {}) as Fields;
    const path = movedPath(call.path, `${IMAGES}/v1/*`, `${IMAGES}/v2/*`);
    return { ...call, path, body: expiry === undefined ? {} : { expiry } };
  },
  response: (answer) => eachResult(answer, ({ uploadURL }) => ({ uploadURL })),
};
