// One event of an entry point: the object that answers it, and its `ctx`.
//
// Invariant: the error of a handler that nobody waits for, and of a promise in `waitUntil`, is reported.
// No assertion keeps this: it is about errors of users' code, which are no defects.

import type {
  QueueMessage,
  QueueMetadata,
  QueueResult,
  ScheduledEvent,
  ScheduledResult,
} from '../../../src/shared/contract/service.ts';
import type { EntryEvent } from '../../../src/shared/wire/protocol.ts';
import type { Recipient } from '../calls/object-calls.ts';
import type { InstanceContext } from '../instance/instance-context.ts';
import { type EventOwner, ExecutionContext } from './execution-context.ts';
import { BatchDecisions, MessageBatch, ScheduledController } from './handler-events.ts';
import type { EntryClass } from './workers.ts';

/** The values that the code of an event receives. */
export interface Given {
  readonly env: object;
  readonly exports: object;
  readonly props: object;
}

type Handler = (argument: unknown) => unknown;

export class Invocation implements Recipient, EventOwner {
  readonly context: InstanceContext;
  readonly object: object;
  readonly handlers: Recipient['handlers'];
  readonly address: Recipient['address'];
  /** The promises of `waitUntil`. Each resolves to false if the work has failed. */
  readonly #work: Promise<boolean>[] = [];
  #passesThrough = false;

  /** Constructs the object that answers the event. @throws the error of the constructor */
  constructor(name: string, entry: EntryClass, context: InstanceContext, given: Given) {
    this.address = { className: name };
    this.context = context;
    const ctx = new ExecutionContext(this, given.props, given.exports);
    this.object = new entry(ctx as never, given.env as never);
    const fetch = this.#handler('fetch');
    this.handlers = fetch === undefined ? {} : { fetch: (request) => this.#fetch(fetch, request) };
  }

  waitFor(work: Promise<unknown>): void {
    this.context.keepAlive(work);
    this.#work.push(work.then(() => true, reportFailure));
  }

  passThroughOnException(): void {
    this.#passesThrough = true;
  }

  readonly run = async (
    event: EntryEvent,
    [first, second, third]: readonly unknown[],
  ): Promise<ScheduledResult | QueueResult> => {
    const handler = this.#handler(event);
    if (event === 'queue') {
      const decisions = new BatchDecisions();
      const batch = new MessageBatch(
        String(first),
        second as QueueMessage[],
        third as QueueMetadata | undefined,
        decisions,
      );
      return decisions.result(await this.#outcome(event, handler, batch));
    }
    const decided = { noRetry: false };
    const now = this.context.host.now();
    const controller = new ScheduledController((first ?? {}) as ScheduledEvent, now, decided);
    return { outcome: await this.#outcome(event, handler, controller), ...decided };
  };

  #handler(name: string): Handler | undefined {
    const member: unknown = Reflect.get(this.object, name);
    return typeof member === 'function' ? member.bind(this.object) : undefined;
  }

  async #fetch(handler: Handler, request: Request): Promise<unknown> {
    try {
      return await handler(request);
    } catch (error) {
      if (!this.#passesThrough || request.bodyUsed) throw error;
      report(error);
      return fetch(request);
    }
  }

  async #outcome(
    event: EntryEvent,
    handler: Handler | undefined,
    argument: object,
  ): Promise<'ok' | 'exception'> {
    let isOk = true;
    try {
      if (handler === undefined) {
        throw new Error(`Handler does not export a ${event}() function.`);
      }
      await handler(argument);
    } catch (error) {
      isOk = reportFailure(error);
    }
    // The list may grow during this loop.
    for (const work of this.#work) isOk = (await work) && isOk;
    return isOk ? 'ok' : 'exception';
  }
}

function reportFailure(error: unknown): false {
  report(error);
  return false;
}

function report(error: unknown): void {
  if (typeof reportError === 'function') reportError(error);
  else console.error('An entry point failed:', error);
}
