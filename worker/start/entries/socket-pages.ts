// Connects pages to the objects of this process over WebSockets, in the way in which a page reaches the objects of a worker.
// The inspector of `ctx-storage dev` uses it.
//
// Invariant: when a socket closes, its page's sessions are closed. A message that cannot be read closes the socket.
// No assertion keeps this: both are about the peer, which may send and close at any moment.
//
// The caller opens the sockets, and decides who may do so.

import type { Objects } from '../../../src/shared/contract/object-management.ts';
import { serialize } from '../../../src/shared/values/encode.ts';
import { passedValue } from '../../../src/shared/values/passed-value.ts';
import { ChannelEndpoint, OwnChannel } from '../../../src/shared/wire/channel-endpoint.ts';
import {
  OWN_VERSIONS,
  type StartMessage,
  type WorkerMessage,
} from '../../../src/shared/wire/control.ts';
import { connectionClosed } from '../../../src/shared/wire/errors-on-wire.ts';
import type { ObjectsService } from '../../../src/shared/wire/protocol.ts';
import { WorkerEnd, type WorkerService } from '../../../src/shared/wire/worker-end.ts';
import { systemTime } from '../../objects/clock/clock.ts';
import type { ClassTable } from '../../objects/instance/object-class.ts';
import { pageService } from '../boot/page-service.ts';
import { hostOf } from './object-tools.ts';

/** The functions of a server's WebSocket that this file uses. */
export interface PageSocket {
  send(message: Uint8Array): void;
  close(): void;
}

/** The handlers of a socket's events, which the server calls. */
export interface SocketEvents {
  message(bytes: Uint8Array): void;
  closed(): void;
}

export class SocketPages {
  readonly #service: WorkerService;
  readonly #pages = new Set<SocketPage>();

  constructor(objects: Pick<Objects<ClassTable>, 'worker'>) {
    const service = pageService(hostOf(objects), (delayMs, task) =>
      systemTime.after(delayMs, task, false),
    );
    this.#service = Object.assign(service, { objects: withEveryClass(service.objects!) });
  }

  /** Serves the page at the other end of a socket. */
  serve(socket: PageSocket): SocketEvents {
    const page = new SocketPage(this.#service, socket);
    this.#pages.add(page);
    return {
      message: (bytes) => page.receive(bytes),
      closed: () => {
        page.end();
        this.#pages.delete(page);
      },
    };
  }

  /** Closes every socket. The page receives `fact` as the reason. */
  close(fact: string): void {
    for (const page of this.#pages) page.end(connectionClosed(fact));
    this.#pages.clear();
  }
}

/** Adds a namespace for each class of a binding, such as `KvObject`, so that the inspector can list its objects. */
function withEveryClass(objects: ObjectsService): ObjectsService {
  return {
    connect(page) {
      const connection = objects.connect(page);
      return {
        ...connection,
        async classes() {
          const outcome = await connection.classes();
          if ('error' in outcome) return outcome;
          const { classes, bindings } = outcome.ok;
          const own = classes.map(({ name }): [string, string] => [name, name]);
          return { ok: { classes, bindings: [...new Map([...bindings, ...own])] } };
        },
      };
    },
  };
}

/** A page that is connected by a socket. Its messages are the events of this target. */
class SocketPage extends EventTarget {
  readonly #service: WorkerService;
  readonly #socket: PageSocket;
  readonly #connections = new Set<WorkerEnd>();

  constructor(service: WorkerService, socket: PageSocket) {
    super();
    this.#service = service;
    this.#socket = socket;
  }

  postMessage(message: unknown): void {
    this.#socket.send(serialize(message));
  }

  receive(bytes: Uint8Array): void {
    let data: unknown;
    try {
      data = passedValue(bytes);
    } catch {
      this.end(connectionClosed('a message could not be read'));
      return;
    }
    this.dispatchEvent(new MessageEvent('message', { data }));
    if ((data as StartMessage | null)?.type === 'start') this.#connect();
  }

  end(reason?: Error): void {
    for (const connection of this.#connections) connection.end(reason);
    this.#connections.clear();
    this.#socket.close();
  }

  #connect(): void {
    const connection = crypto.randomUUID();
    // The page is told the medium 'opfs', whatever the real one is, because a page accepts it in any case.
    const leads: WorkerMessage = { type: 'leads', connection, medium: 'opfs', ...OWN_VERSIONS };
    this.postMessage(leads);
    const endpoint = new ChannelEndpoint(new OwnChannel(this, connection), this.#service.pace);
    this.#connections.add(new WorkerEnd(this.#service, endpoint));
  }
}
