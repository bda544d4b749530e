// The queue that the worker's code calls as `env.JOBS` to send messages.

import type {
  DurableObjectNamespace,
  DurableObjectStub,
  QueueMetrics,
} from '@ctx-storage/core/object';
import type { QueueObject } from './queue-object.ts';
import {
  convertBatch,
  convertMessage,
  type MessageSendRequest,
  type QueueSendOptions,
  type SentMessage,
} from './sent-message.ts';

/** The answer to a producer: the metrics of the queue from before the message. */
interface QueueSendResponse {
  readonly metadata: { readonly metrics: QueueMetrics };
}

export class WorkerQueue {
  readonly #objects: DurableObjectNamespace<QueueObject>;
  readonly #id: DurableObjectStub['id'];
  readonly #delaySeconds: number;

  constructor(objects: DurableObjectNamespace<QueueObject>, name: string, delaySeconds: number) {
    this.#objects = objects;
    this.#id = objects.idFromName(name);
    this.#delaySeconds = delaySeconds;
  }

  /** Sends a message. Resolves once the message is stored. */
  async send(body: unknown, options?: QueueSendOptions | null): Promise<QueueSendResponse> {
    return this.#put([convertMessage(body, options, this.#delaySeconds)]);
  }

  /** Sends several messages, of which either all are stored or none. */
  async sendBatch(
    messages: Iterable<MessageSendRequest>,
    options?: Pick<QueueSendOptions, 'delaySeconds'> | null,
  ): Promise<QueueSendResponse> {
    return this.#put(convertBatch(messages, options, this.#delaySeconds));
  }

  /** Counts the messages that are due and not yet delivered. */
  async metrics(): Promise<QueueMetrics> {
    return this.#stub.metrics();
  }

  get [Symbol.toStringTag](): string {
    return 'WorkerQueue';
  }

  /** Returns a new stub for each call, because a stub fails for good once the instance that it reached has ended. */
  get #stub() {
    return this.#objects.get(this.#id);
  }

  async #put(messages: SentMessage[]): Promise<QueueSendResponse> {
    return { metadata: { metrics: await this.#stub.put(messages) } };
  }
}
