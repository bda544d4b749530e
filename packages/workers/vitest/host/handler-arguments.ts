// Makes arguments for handlers that a test calls itself (`ctx`, a scheduled event, a batch of messages), and returns
// the outcome of the calls.

import { storageError } from '@ctx-storage/core/errors';
import type { QueueMessage, QueueResult, ScheduledEvent } from '@ctx-storage/core/object';
import {
  BatchDecisions,
  ExecutionContext,
  MessageBatch,
  ScheduledController,
} from '@ctx-storage/worker/objects';
import { exports } from '@ctx-storage/worker/realm';

/** The promises that each context's `waitUntil` has received and that no test has waited for yet. */
const works = new WeakMap<object, Promise<unknown>[]>();
const decisionsOf = new WeakMap<object, BatchDecisions>();

/** Makes the `ctx` for a handler that the test calls itself. */
export function createExecutionContext(): ExecutionContext {
  const work: Promise<unknown>[] = [];
  const owner = {
    waitFor(promise: Promise<unknown>) {
      promise.catch(() => {}); // The code that waits for the promise gets the error.
      work.push(promise);
    },
    passThroughOnException() {},
  };
  const ctx = new ExecutionContext(owner, {}, exports as Record<string, object>);
  works.set(ctx, work);
  return ctx;
}

/**
 * Waits for all promises that `ctx.waitUntil` has received, including those that arrive meanwhile. Rejects with the
 * error of a promise that failed; with an AggregateError if several failed.
 *
 * @throws INVALID_ARGUMENT
 */
export async function waitOnExecutionContext(ctx: object): Promise<void> {
  const work = works.get(ctx);
  if (work === undefined) {
    throw storageError(
      'INVALID_ARGUMENT',
      'waitOnExecutionContext: takes a ctx that createExecutionContext() has made.',
    );
  }
  const errors: unknown[] = [];
  while (work.length > 0) {
    const ends = await Promise.allSettled(work.splice(0));
    for (const end of ends) if (end.status === 'rejected') errors.push(end.reason);
  }
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new AggregateError(errors, 'Several promises of waitUntil failed.');
}

/** Makes the first argument of `scheduled`. */
export function createScheduledController(options: ScheduledEvent = {}): ScheduledController {
  return new ScheduledController(options, Date.now(), { noRetry: false });
}

/** Makes the first argument of `queue`. Bodies are copied. @throws INVALID_ARGUMENT, DataCloneError */
export function createMessageBatch(
  queueName: string,
  messages: readonly QueueMessage[],
): MessageBatch {
  if (!Array.isArray(messages)) {
    throw storageError(
      'INVALID_ARGUMENT',
      'createMessageBatch: takes the name of a queue and an array of { id, timestamp, attempts, body }.',
    );
  }
  const decisions = new BatchDecisions();
  const batch = new MessageBatch(
    String(queueName),
    messages.map(copyMessage),
    undefined,
    decisions,
  );
  decisionsOf.set(batch, decisions);
  return batch;
}

/** Returns the handler's decisions, once its `waitUntil` promises have settled. @throws INVALID_ARGUMENT */
export async function getQueueResult(batch: object, ctx: object): Promise<QueueResult> {
  const decisions = decisionsOf.get(batch);
  if (decisions === undefined) {
    throw storageError(
      'INVALID_ARGUMENT',
      'getQueueResult: takes a batch that createMessageBatch() has made, and the ctx of the handler.',
    );
  }
  await waitOnExecutionContext(ctx);
  return decisions.result('ok');
}

function copyMessage({ id, timestamp, attempts, body }: QueueMessage): QueueMessage {
  const time: unknown = timestamp;
  if (!(time instanceof Date) && typeof time !== 'number') {
    throw storageError(
      'INVALID_ARGUMENT',
      `createMessageBatch: the timestamp of message ${id} is a Date or milliseconds, not ${typeof time}.`,
    );
  }
  if (typeof attempts !== 'number') {
    throw storageError(
      'INVALID_ARGUMENT',
      `createMessageBatch: the attempts of message ${id} is a number, not ${typeof attempts}.`,
    );
  }
  return { id: String(id), timestamp: new Date(time), attempts, body: structuredClone(body) };
}
