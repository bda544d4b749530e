// `queue()` describes a queue that becomes a member of `env`, and the consumer of its messages.

import { BINDING, type EnvBinding } from '@ctx-storage/core/contract';
import { storageError } from '@ctx-storage/core/errors';
import type { DurableObjectNamespace } from '@ctx-storage/core/object';
import { checkRange } from '../checked-range.ts';
import { type AppQueue, type Consumer, QueueObject } from './queue-object.ts';
import { WorkerQueue } from './worker-queue.ts';

export interface QueueOptions {
  /** The name of the queue. Bindings with the same name send to the same queue. @default the name of the binding */
  readonly name?: string;
  /** How long a message without a delay of its own waits, in seconds. @default 0 */
  readonly deliveryDelay?: number;
  /** The consumer of the messages. @default none: the messages stay in the queue */
  readonly consumer?: QueueConsumer;
}

/** Receives messages with the handler `queue` of a default entry point. */
export interface QueueConsumer {
  /** The name of its worker. @default the worker itself */
  readonly service?: string;
  /** The most messages of a batch, 1 to 100. @default 5 */
  readonly maxBatchSize?: number;
  /** How long the first message waits for others, 0 to 60 seconds. @default 1 */
  readonly maxBatchTimeout?: number;
  /** How often a message is delivered again, 0 to 100. @default 2 */
  readonly maxRetries?: number;
  /** How long a retry waits if the code names no delay, in seconds. @default 0 */
  readonly retryDelay?: number;
  /** The name of the queue that gets messages after their last retry. @default the messages are dropped */
  readonly deadLetterQueue?: string;
  /** This option has no effect, because one batch is delivered at a time. */
  readonly maxConcurrency?: number;
}

const DELAY_SECONDS = [0, 86_400] as const;

const RANGES = {
  maxBatchSize: [1, 100],
  maxBatchTimeout: [0, 60],
  maxRetries: [0, 100],
  retryDelay: DELAY_SECONDS,
  maxConcurrency: [1, 250],
} as const;

/** A queue: `bindings: { JOBS: queue({ consumer: {} }) }`. */
export function queue({ name, deliveryDelay, consumer }: QueueOptions = {}): EnvBinding {
  return {
    [BINDING]: (binding) => {
      checkRange(binding, 'deliveryDelay', deliveryDelay, DELAY_SECONDS);
      const queueName = name ?? binding;
      const ownConsumer = consumer && completeConsumer(binding, queueName, consumer);
      const namespace = (objects: DurableObjectNamespace) =>
        objects as DurableObjectNamespace<QueueObject>;
      return {
        className: 'QueueObject',
        class: QueueObject,
        client: (objects) => new WorkerQueue(namespace(objects), queueName, deliveryDelay ?? 0),
        ...(ownConsumer && {
          entry: consumer.service === undefined ? {} : { service: consumer.service },
          // The consumer may be new, and find messages that wait.
          start: (objects) => namespace(objects).getByName(queueName).wake(),
        }),
        inside: (objects, entry): AppQueue => ({
          name: queueName,
          objects: namespace(objects),
          ...(ownConsumer && { consumer: { ...ownConsumer, entry: entry! } }),
        }),
      };
    },
  };
}

function completeConsumer(
  binding: string,
  name: string,
  given: QueueConsumer,
): Omit<Consumer, 'entry'> {
  for (const [option, range] of Object.entries(RANGES)) {
    checkRange(binding, option, given[option as keyof typeof RANGES], range);
  }
  const { maxBatchSize = 5, maxBatchTimeout = 1, maxRetries = 2, retryDelay = 0 } = given;
  const { deadLetterQueue = null } = given;
  if (deadLetterQueue === name) {
    throw storageError(
      'CLASS_INVALID',
      `serve: the deadLetterQueue of binding ${binding} is "${name}" itself; name another queue.`,
    );
  }
  return {
    batchMax: Math.floor(maxBatchSize),
    timeoutMs: Math.round(maxBatchTimeout * 1000),
    retriesMax: maxRetries,
    retryDelaySeconds: retryDelay,
    deadLetterQueue,
  };
}
