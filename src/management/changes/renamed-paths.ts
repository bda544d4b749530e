// Paths that had another name: `script_monitor` until 2022-10-11, image uploads v1 until 2022-07-01.

import { type Change, eachResult, type Fields } from './change.ts';

export const scriptMonitor: Change = {
  id: 'script-monitor',
  request: (call) => ({
    ...call,
    path: call.path.replace(/^(\/zones\/[^/]+)\/script_monitor/, '$1/page_shield'),
  }),
};

/** v1 has no control over metadata, access and id, and does not tell the id. */
export const imageUpload: Change = {
  id: 'image-direct-upload-v1',
  request: (call) => {
    const { expiry } = (call.body ?? {}) as Fields;
    const path = call.path.replace('/images/v1/', '/images/v2/');
    return { ...call, path, body: expiry === undefined ? {} : { expiry } };
  },
  response: (answer) => eachResult(answer, ({ uploadURL }) => ({ uploadURL })),
};
