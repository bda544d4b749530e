// Sends the calls of this page's stubs over the current connection, in the order in which they were made. Calls made
// before there is a connection wait for it.
//
// A sent call rejects when the worker dies, because it may have taken effect; an unsent call waits for the next worker. A
// call reaches whichever instance its object has. One exception: if a reset has ended an earlier call of the object, calls
// that were sent before the page knew of the reset reject, too, so that no call takes effect after a lost one.

import type { Answer, OutgoingCall } from '../../shared/calls/membrane/caller.ts';
import { References } from '../../shared/calls/membrane/references.ts';
import type { AskFollowed } from '../../shared/calls/stubs/followed-calls.ts';
import type { CallFlag } from '../../shared/contract/call-flag.ts';
import { deserialize } from '../../shared/values/decode.ts';
import { fromWire } from '../../shared/wire/errors-on-wire.ts';
import type { PageEnd } from '../../shared/wire/page-end.ts';
import type {
  ClassList,
  ManageRequest,
  ManageResults,
  ObjectRequest,
} from '../../shared/wire/protocol.ts';
import type { LeaderFinder } from '../leader/leader-finder.ts';
import type { Status } from '../leader/status.ts';
import { Repeats } from './repeats.ts';

interface Waiting {
  readonly call: OutgoingCall;
  /** The flag by which the call can be cancelled. */
  readonly flag?: CallFlag;
  /** The connection over which the call was sent. */
  connection?: PageEnd;
  readonly resolve: (answer: Promise<Answer>) => void;
  readonly reject: (error: unknown) => void;
}

export class ObjectsClient {
  readonly #finder: LeaderFinder;
  readonly #status: Status;
  readonly #now: () => number;
  #waiting: Waiting[] = [];
  #isConnecting = false;

  constructor(finder: LeaderFinder, status: Status, now: () => number) {
    this.#finder = finder;
    this.#status = status;
    this.#now = now;
  }

  /** Reads the list of classes that the worker serves. @throws as `connect` */
  async classes(): Promise<ClassList> {
    for (const repeats = new Repeats(this.#now); ; ) {
      const connection = await this.#finder.connection();
      try {
        const outcome = await connection.worker.classes();
        if ('ok' in outcome) return outcome.ok;
        throw fromWire(outcome.error);
      } catch (error) {
        // The worker was ending, so the next one is asked.
        if (connection.failure === null || repeats.areOver(error)) throw error;
      }
    }
  }

  /** Asks an object that follows another one. */
  readonly follow: AskFollowed = async (address, ask) =>
    deserialize(await this.manage({ op: 'follow', address, ask })) as never;

  /** Sends a request that is not a call of an object, such as listing objects. */
  async manage<R extends ManageRequest>(request: R): Promise<ManageResults[R['op']]> {
    const { end, work } = this.#finder;
    if (end !== undefined) throw end;
    work.begin();
    try {
      const outcome = await (await this.#finder.connection()).worker.manage(request);
      if ('error' in outcome) throw fromWire(outcome.error);
      return outcome.ok as ManageResults[R['op']];
    } finally {
      work.end();
    }
  }

  readonly carry = (call: OutgoingCall): Promise<Answer> => {
    const { end, work } = this.#finder;
    if (end !== undefined) return Promise.reject(end);
    const answer = new Promise<Answer>((resolve, reject) => {
      const waiting = { call, resolve, reject };
      this.#waiting.push(call.signal ? this.#cancellable(waiting, call.signal) : waiting);
      if (!this.#isConnecting) void this.#send();
    });
    // A watch is answered only when its object ends, so it is not counted as pending work.
    if (call.watcher === undefined) {
      work.begin();
      const settled = () => work.end();
      answer.then(settled, settled);
    }
    return call.mayWrite ? this.#status.write(answer) : answer;
  };

  #cancellable({ call, resolve, reject }: Waiting, signal: AbortSignal): Waiting {
    const flagged = this.#finder.flags.begin(signal, () => {
      this.#waiting = this.#waiting.filter((other) => other !== waiting);
      waiting.reject(signal.reason);
      // If the call was sent, the worker is told to cancel it.
      void waiting.connection?.worker.cancel([flagged.flag.url]).catch(() => {});
    });
    const waiting: Waiting = {
      call,
      flag: flagged.flag,
      resolve(answer) {
        answer.then(flagged.end, flagged.end);
        resolve(answer);
      },
      reject(error) {
        flagged.end();
        reject(error);
      },
    };
    return waiting;
  }

  async #send(): Promise<void> {
    this.#isConnecting = true;
    try {
      const connection = await this.#finder.connection();
      for (const waiting of this.#take()) waiting.resolve(this.#ask(connection, waiting));
    } catch (error) {
      for (const { reject } of this.#take()) reject(error);
    }
  }

  #take(): Waiting[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#isConnecting = false;
    return waiting;
  }

  async #ask(connection: PageEnd, waiting: Waiting): Promise<Answer> {
    const shared = sharedOf(connection);
    const channel = shared.references;
    const { address, bond, reach, request, told } = waiting.call;
    const { flag } = waiting;
    waiting.connection = connection;
    const { client } = this.#finder;
    const send = async (sent: ObjectRequest) => {
      const { heard } = shared;
      const all = { ...sent, client, heard, ...(flag && { flag }) };
      const outcome = await connection.worker.call(address, all);
      shared.heard = Math.max(shared.heard, outcome.reset ?? 0);
      return outcome;
    };
    const payload = await bond.ask(channel, request, send, told, reach);
    return { payload, channel };
  }
}

/** The state that all clients of a connection share. */
interface Shared {
  readonly references: References;
  /** The number of the last reset that the page knows of. */
  heard: number;
}

const sharedByConnection = new WeakMap<PageEnd, Shared>();

function sharedOf(connection: PageEnd): Shared {
  let shared = sharedByConnection.get(connection);
  if (shared === undefined) {
    const references = new References(connection.worker);
    connection.show(references);
    void connection.lost.then((reason) => references.end(reason));
    shared = { references, heard: 0 };
    sharedByConnection.set(connection, shared);
  }
  return shared;
}
