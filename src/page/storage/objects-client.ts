// Calls of this page's stubs, over whichever connection stands: sent in the order they were made,
// also those made while there is none yet.
//
// A call that was sent when the worker died rejects, because it may have taken effect; one that was
// not waits for the next worker.

import type { CallFlag } from '../contract/call-flag.ts';
import type { Answer, OutgoingCall } from '../membrane/caller.ts';
import { References } from '../membrane/references.ts';
import { fromWire } from '../rpc/errors-on-wire.ts';
import type { ClassList, ManageRequest, ManageResults } from '../rpc/object-protocol.ts';
import type { PageEnd } from '../rpc/page-end.ts';
import type { LeaderFinder } from './leader-finder.ts';
import type { Status } from './status.ts';

/** How often the worker may be lost before its classes are not asked for again. */
const ASKS_MAX = 3;

interface Waiting {
  readonly call: OutgoingCall;
  /** Present if it can be cancelled. */
  readonly flag?: CallFlag;
  /** Where it was sent. */
  connection?: PageEnd;
  readonly resolve: (answer: Promise<Answer>) => void;
  readonly reject: (error: unknown) => void;
}

export class ObjectsClient {
  readonly #finder: LeaderFinder;
  readonly #status: Status;
  readonly #references = new WeakMap<PageEnd, References>();
  #waiting: Waiting[] = [];
  #isConnecting = false;

  constructor(finder: LeaderFinder, status: Status) {
    this.#finder = finder;
    this.#status = status;
  }

  /** The classes that the worker serves. @throws as `connect` */
  async classes(): Promise<ClassList> {
    for (let tries = 1; ; tries++) {
      const connection = await this.#finder.connection();
      try {
        const outcome = await connection.worker.classes();
        if ('ok' in outcome) return outcome.ok;
        throw fromWire(outcome.error);
      } catch (error) {
        // The worker was on its way out; there may be another.
        if (connection.failure === null || tries === ASKS_MAX) throw error;
      }
    }
  }

  /** Asks for anything that is not a call of an object. */
  async manage<R extends ManageRequest>(request: R): Promise<ManageResults[R['op']]> {
    const outcome = await (await this.#finder.connection()).worker.manage(request);
    if ('error' in outcome) throw fromWire(outcome.error);
    return outcome.ok as ManageResults[R['op']];
  }

  readonly carry = (call: OutgoingCall): Promise<Answer> => {
    const answer = new Promise<Answer>((resolve, reject) => {
      const waiting = { call, resolve, reject };
      this.#waiting.push(call.signal ? this.#cancellable(waiting, call.signal) : waiting);
      if (!this.#isConnecting) void this.#send();
    });
    return call.mayWrite ? this.#status.write(answer) : answer;
  };

  #cancellable({ call, resolve, reject }: Waiting, signal: AbortSignal): Waiting {
    const flagged = this.#finder.flags.begin(signal, () => {
      this.#waiting = this.#waiting.filter((other) => other !== waiting);
      waiting.reject(signal.reason);
      // If it was sent, the caller has stopped waiting, and the worker is told.
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
    const channel = this.#referencesOf(connection);
    const { address, bond, request } = waiting.call;
    const { flag } = waiting;
    waiting.connection = connection;
    const payload = await bond.ask(channel, request, (sent) => {
      return connection.worker.call(address, flag === undefined ? sent : { ...sent, flag });
    });
    return { payload, channel };
  }

  #referencesOf(connection: PageEnd): References {
    let references = this.#references.get(connection);
    if (references === undefined) {
      const made = new References(connection.worker);
      connection.show(made);
      void connection.lost.then((reason) => made.end(reason));
      this.#references.set(connection, made);
      references = made;
    }
    return references;
  }
}
