// Fields that DNS records had in answers: `locked`, always false, until 2024-07-14; `zone_id` and
// `zone_name` until 2024-11-30. On every day they are ignored in requests.

import { type Change, eachResult } from './change.ts';

export const recordLocked: Change = {
  id: 'dns-record-locked',
  response: (answer) => eachResult(answer, (record) => ({ ...record, locked: false })),
};

export const recordZone: Change = {
  id: 'dns-record-zone-fields',
  response: (answer, { zone }) =>
    eachResult(answer, (record) => ({ ...record, zone_id: zone!.id, zone_name: zone!.name })),
};
