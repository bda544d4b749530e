// The storage of a page on a worker's host, both in this thread: the two ends of a connection with a channel
// between them, as after a page has found the worker that leads.

import { loadSqliteInNode } from '../../../packages/testing/worker/sqlite.ts';
import { Flags } from '../../../src/page/leader/flags.ts';
import { Persistence } from '../../../src/page/leader/status.ts';
import { RemoteStorage } from '../../../src/page/storage/remote-storage.ts';
import { Session, type SessionFinder } from '../../../src/page/storage/session.ts';
import {
  ChannelEndpoint,
  type ChannelHost,
  OwnChannel,
} from '../../../src/shared/wire/channel-endpoint.ts';
import { PageEnd, Work } from '../../../src/shared/wire/page-end.ts';
import { WorkerEnd } from '../../../src/shared/wire/worker-end.ts';
import { MemoryMedium } from '../../../worker/engine/file/medium.ts';
import { MemoryCatalog } from '../../../worker/objects/catalog/catalog.ts';
import { ClassRegistry } from '../../../worker/objects/instance/object-class.ts';
import { PageSessions } from '../../../worker/objects/sessions/page-sessions.ts';
import { storageRealm } from '../../../worker/realm/globals/realm.ts';
import { startHost } from '../../../worker/start/boot/start-host.ts';

/** No instance becomes idle between two calls, however slow the machine is. */
const IDLE_MS = 3_600_000;

export async function openPageStorage(): Promise<{
  readonly storage: RemoteStorage;
  close(): Promise<void>;
}> {
  const { host, namespaces, turns, close } = await startHost(
    {
      sqlite: await loadSqliteInNode(),
      medium: new MemoryMedium(),
      catalog: new MemoryCatalog(),
      realm: storageRealm,
      isDedicated: false,
      idleMs: IDLE_MS,
    },
    new ClassRegistry(),
    {},
  );
  const pace = {
    deliver: (task: () => void) => turns.nextTurn(task),
    send: (task: () => void) => turns.nextTurn(task),
  };
  const service = {
    storage: new PageSessions(host, after),
    objects: namespaces.calls,
    live: namespaces.live,
    pace,
  };
  const { port1, port2 } = new MessageChannel();
  new WorkerEnd(service, new ChannelEndpoint(channelOver(port1), pace));
  const page = new PageEnd(new ChannelEndpoint(channelOver(port2)));
  const session = new Session('object', finderOf(page), () => PageDate.now());
  await session.open();
  return {
    storage: new RemoteStorage(session, {
      after,
      nextTask: async () => {},
      now: () => PageDate.now(),
      onPageHide: () => () => {},
      whenCollected() {},
    }),
    async close() {
      await close();
      port1.close();
    },
  };
}

/** The channel of a worker and its page. */
function channelOver(port: MessagePort): OwnChannel {
  port.start();
  return new OwnChannel(port as unknown as ChannelHost, 'connection');
}

function finderOf(page: PageEnd): SessionFinder {
  return {
    client: 'client',
    flags: new Flags({ make: () => 'flag', revoke() {}, now: () => 0 }),
    standing: {
      standing: { state: 'leading', reason: null, medium: null },
      isOutdated: false,
      persistence: new Persistence({}),
      onStanding: () => () => {},
      onNotice: () => () => {},
    },
    end: undefined,
    work: new Work(),
    connection: () => Promise.resolve(page),
  };
}

// Taken before a host replaces them: a page has globals of its own.
const { setTimeout, clearTimeout, Date: PageDate } = globalThis;

function after(delayMs: number, task: () => void): () => void {
  const timer = setTimeout(task, delayMs);
  return () => clearTimeout(timer);
}
