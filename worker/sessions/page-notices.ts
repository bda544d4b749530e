// What a host tells, as pages are told it: objects by their addresses as data.

import type { Notices } from '../../src/rpc/notices.ts';
import { toWireAddress } from '../../src/stubs/wire-address.ts';
import type { ObjectHost } from '../host/object-host.ts';

export function noticesOf(host: Pick<ObjectHost, 'notices'>): Notices {
  return {
    subscribe: (listener) =>
      host.notices.subscribe((notice) =>
        listener(
          notice.type === 'storagelow'
            ? notice
            : { type: notice.type, address: toWireAddress(notice.address) },
        ),
      ),
  };
}
