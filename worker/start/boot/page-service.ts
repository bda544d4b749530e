// Makes the service that a running host offers to pages.

import { toWireAddress } from '../../../src/shared/calls/stubs/wire-address.ts';
import type { Notices } from '../../../src/shared/wire/control.ts';
import type { WorkerService } from '../../../src/shared/wire/worker-end.ts';
import type { ObjectHost } from '../../objects/host/object-host.ts';
import { PageSessions } from '../../objects/sessions/page-sessions.ts';
import type { After } from '../../objects/sessions/page-transaction.ts';
import type { RunningHost } from './start-host.ts';

export function pageService(
  { host, namespaces, turns, close }: RunningHost,
  after: After,
): WorkerService {
  const sessions = new PageSessions(host, after);
  return {
    storage: sessions,
    objects: namespaces.calls,
    live: namespaces.live,
    get isQuiet() {
      return host.isQuiet && namespaces.isQuiet && !sessions.isInTransaction;
    },
    rest: () => host.rest(),
    notices: noticesOf(host),
    // Each message of a pack is delivered in its own turn, because in a browser an event lasts as long as its turn.
    pace: {
      deliver: (task) => turns.nextTurn(task),
      send: (task) => turns.afterTurns(task),
    },
    end: close,
  };
}

/** Converts the notices of a host for pages: addresses of objects become plain data. */
function noticesOf(host: Pick<ObjectHost, 'notices'>): Notices {
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
