// The arguments of the handlers `scheduled` and `queue`, and the decisions of their code.

import type {
  QueueMessage,
  QueueMetadata,
  QueueResult,
  ScheduledEvent,
} from '../../../src/shared/contract/service.ts';
import { refuseToClone } from '../../../src/shared/values/object-kind.ts';

export class ScheduledController {
  readonly cron: string;
  /** Milliseconds since the epoch. */
  readonly scheduledTime: number;
  readonly #decided: { noRetry: boolean };

  constructor(
    { cron = '', scheduledTime }: ScheduledEvent,
    now: number,
    decided: { noRetry: boolean },
  ) {
    this.cron = cron;
    this.scheduledTime = Number(scheduledTime ?? now);
    this.#decided = decided;
  }

  noRetry(): void {
    this.#decided.noRetry = true;
  }

  get [Symbol.toStringTag](): string {
    return 'ScheduledController';
  }
}

/** How long a message waits for its retry. */
interface RetryOptions {
  readonly delaySeconds?: number;
}

const EMPTY = { backlogCount: 0, backlogBytes: 0, oldestMessageTimestamp: undefined };

/** Decisions, which the code makes through `MessageBatch` and `Message`. */
export class BatchDecisions {
  #acksAll = false;
  #batchRetry: RetryOptions | undefined;
  readonly #acks = new Set<string>();
  readonly #retries = new Map<string, RetryOptions>();

  ackAll(): void {
    this.#acksAll ||= this.#batchRetry === undefined;
  }

  retryAll(options: RetryOptions): void {
    if (!this.#acksAll) this.#batchRetry = { ...this.#batchRetry, ...options };
  }

  ack(id: string): void {
    const isOpen = !this.#acksAll && this.#batchRetry === undefined && !this.#retries.has(id);
    if (isOpen) this.#acks.add(id);
  }

  retry(id: string, options: RetryOptions): void {
    if (this.#acksAll || this.#acks.has(id)) return;
    this.#retries.set(id, options);
  }

  result(outcome: QueueResult['outcome']): QueueResult {
    return {
      outcome,
      ackAll: this.#acksAll,
      retryBatch: { retry: this.#batchRetry !== undefined, ...this.#batchRetry },
      explicitAcks: [...this.#acks],
      retryMessages: [...this.#retries].map(([msgId, retry]) => ({ msgId, ...retry })),
    };
  }
}

function retryOptions(options: RetryOptions | null | undefined): RetryOptions {
  const { delaySeconds } = options ?? {};
  return delaySeconds === undefined ? {} : { delaySeconds };
}

export class Message {
  readonly id: string;
  readonly timestamp: Date;
  readonly body: unknown;
  readonly attempts: number;
  readonly #decisions: BatchDecisions;

  constructor({ id, timestamp, body, attempts = 1 }: QueueMessage, decisions: BatchDecisions) {
    this.id = id;
    this.timestamp = timestamp;
    this.body = body;
    this.attempts = attempts;
    this.#decisions = decisions;
  }

  ack(): void {
    this.#decisions.ack(this.id);
  }

  retry(options?: RetryOptions | null): void {
    this.#decisions.retry(this.id, retryOptions(options));
  }

  get [Symbol.toStringTag](): string {
    return 'QueueMessage';
  }
}

export class MessageBatch {
  readonly queue: string;
  readonly messages: readonly Message[];
  readonly metadata: QueueMetadata;
  readonly #decisions: BatchDecisions;

  constructor(
    queue: string,
    messages: readonly QueueMessage[],
    metadata: QueueMetadata | undefined,
    decisions: BatchDecisions,
  ) {
    this.queue = queue;
    this.metadata = { metrics: metadata?.metrics ?? EMPTY };
    this.messages = messages.map((message) => new Message(message, decisions));
    this.#decisions = decisions;
  }

  ackAll(): void {
    this.#decisions.ackAll();
  }

  retryAll(options?: RetryOptions | null): void {
    this.#decisions.retryAll(retryOptions(options));
  }

  get [Symbol.toStringTag](): string {
    return 'QueueController';
  }
}

refuseToClone(ScheduledController, Message, MessageBatch);
