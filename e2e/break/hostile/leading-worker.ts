// The worker that leads, as pages meet it, in this thread: served by the same code as in a browser,
// over objects in memory, with Web Locks of the tests' browser.

import { type Agent, FakeBrowser } from '../../../packages/testing/page/fake-browser.ts';
import { loadSqliteInNode } from '../../../packages/testing/worker/sqlite.ts';
import {
  holdForLife,
  namesOf,
  PROTOCOL_VERSION,
  type WorkerMessage,
} from '../../../src/shared/wire/control.ts';
import { MemoryMedium } from '../../../worker/engine/file/medium.ts';
import { MemoryCatalog } from '../../../worker/objects/catalog/catalog.ts';
import { ClassRegistry } from '../../../worker/objects/instance/object-class.ts';
import { PageSessions } from '../../../worker/objects/sessions/page-sessions.ts';
import { objectRealm } from '../../../worker/realm/globals/object-realm.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';
import { startHost } from '../../../worker/start/boot/start-host.ts';
import { DurableObject } from '../../../worker/start/entries/node-objects.ts';

const { setTimeout: systemTimeout, clearTimeout: systemClear } = globalThis;

class Counter extends DurableObject {
  #count = 0;
  add(amount: number): number {
    this.#count += amount;
    return this.#count;
  }
}

export class LeadingWorker {
  /** The connection of the worker's own page. */
  readonly port: MessagePort;
  readonly #browser: FakeBrowser;
  /** The page of another tab. */
  readonly #tab: Agent;
  readonly #page: MessagePort;
  readonly #control: BroadcastChannel;
  readonly #directory: string;
  readonly #end: () => Promise<void>;

  private constructor(
    port: MessagePort,
    browser: FakeBrowser,
    page: MessagePort,
    directory: string,
    end: () => Promise<void>,
  ) {
    this.port = port;
    this.#browser = browser;
    this.#tab = browser.agent();
    this.#page = page;
    this.#directory = directory;
    this.#control = this.#tab.openChannel(namesOf(directory).controlChannel);
    this.#end = end;
  }

  static async start(directory: string): Promise<LeadingWorker> {
    const running = await startHost(
      {
        sqlite: await loadSqliteInNode(),
        medium: new MemoryMedium(),
        catalog: new MemoryCatalog(),
        turns: { nextTurn: (task) => void setImmediate(task) },
        realm: objectRealm,
        isDedicated: false,
      },
      new ClassRegistry({ Counter }, {}),
      {},
    );
    const after = (delayMs: number, task: () => void) => {
      const timer = systemTimeout(task, delayMs);
      return () => systemClear(timer);
    };
    const sessions = new PageSessions(running.host, after);
    const browser = new FakeBrowser();
    const agent = browser.agent();
    const { port1, port2 } = new MessageChannel();
    runCandidate(
      {
        digest: async () => 'code',
        createHost: async () => ({
          medium: 'memory',
          service: {
            storage: sessions,
            objects: running.namespaces.calls,
          },
        }),
      },
      {
        page: port1 as never,
        locks: agent.locks,
        openChannel: agent.openChannel,
        after,
        elapsed: () => performance.now(),
      },
    );
    port1.start();
    const leads = new Promise<MessagePort>((resolve, reject) => {
      port2.addEventListener('message', (event) => {
        const message = (event as MessageEvent<WorkerMessage>).data;
        if (message.type === 'leads' && message.port) resolve(message.port);
        if (message.type === 'failed') reject(new Error(message.error.message));
      });
    });
    port2.start();
    port2.postMessage({
      type: 'start',
      worker: 'leader',
      directory,
      medium: 'memory',
      wasmUrl: null,
    });
    return new LeadingWorker(await leads, browser, port2, directory, async () => {
      browser.close();
      await running.close();
    });
  }

  /** The other tab's end of a connection. */
  openConnection(client: string): BroadcastChannel {
    return this.#tab.openChannel(namesOf(this.#directory).connectionChannel(client));
  }

  /** A page of another tab connects, as the protocol says. */
  async admit(client: string): Promise<void> {
    await holdForLife(this.#browser.agent().locks, namesOf(this.#directory).clientLock(client));
    const message = { type: 'connect', worker: 'leader', client, connection: client };
    this.#control.postMessage({ ...message, version: PROTOCOL_VERSION });
  }

  /** Posts a message to the worker on its own page's port, or on the channel that all tabs share. */
  hear(message: unknown, isFromOwnPage: boolean): void {
    if (isFromOwnPage) this.#page.postMessage(message);
    else this.#control.postMessage(message);
  }

  async close(): Promise<void> {
    this.#control.close();
    this.#page.close();
    await this.#end();
  }
}
