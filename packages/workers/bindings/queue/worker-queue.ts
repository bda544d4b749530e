// A queue as code in the worker has it: its producer.

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

/** The queue as it was before the message. */
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

  /** Resolves when the message is stored. */
  async send(body: unknown, options?: QueueSendOptions | null): Promise<QueueSendResponse> {
    return this.#put([convertMessage(body, options, this.#delaySeconds)]);
  }

  /** All of the messages, or none. */
  async sendBatch(
    messages: Iterable<MessageSendRequest>,
    options?: Pick<QueueSendOptions, 'delaySeconds'> | null,
  ): Promise<QueueSendResponse> {
    return this.#put(convertBatch(messages, options, this.#delaySeconds));
  }

  /** The messages that could be delivered, and are not. */
  async metrics(): Promise<QueueMetrics> {
    return this.#stub.metrics();
  }

  get [Symbol.toStringTag](): string {
    return 'WorkerQueue';
  }

  /** A new one each time: a stub ends with the instance that it has reached. */
  get #stub() {
    return this.#objects.get(this.#id);
  }

  async #put(messages: SentMessage[]): Promise<QueueSendResponse> {
    return { metadata: { metrics: await this.#stub.put(messages) } };
  }
}
