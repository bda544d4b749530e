// Pages of browsers that reach the objects of this process over WebSockets, as a page reaches those of the worker that
// it started: the inspector of `ctx-storage dev`.
//
// Invariant: the end of a socket closes its page's sessions. A message that cannot be read ends the socket.
//
// Does not know a library of sockets, and not who may open one.

import type { Objects } from '../../../src/shared/contract/object-management.ts';
import { deserialize } from '../../../src/shared/values/decode.ts';
import { serialize } from '../../../src/shared/values/encode.ts';
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

/** A WebSocket of the server. */
export interface PageSocket {
  send(message: Uint8Array): void;
  close(): void;
}

/** What the server hears of a socket. */
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

  /** Serves the page at the other end. */
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

  /** Closes every socket. `fact`: why. */
  close(fact: string): void {
    for (const page of this.#pages) page.end(connectionClosed(fact));
    this.#pages.clear();
  }
}

/** Also the classes of bindings, such as `KvObject`, have a namespace by their own name. */
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

/** One page: events of this target are its messages. */
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
      data = deserialize(bytes);
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
    // The word for files of their own, where a page may ask for them.
    const leads: WorkerMessage = { type: 'leads', connection, medium: 'opfs', ...OWN_VERSIONS };
    this.postMessage(leads);
    const endpoint = new ChannelEndpoint(new OwnChannel(this, connection), this.#service.pace);
    this.#connections.add(new WorkerEnd(this.#service, endpoint));
  }
}
