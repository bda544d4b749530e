// The arguments of the handlers `scheduled` and `queue`, and the decisions of their code.

import type {
  QueueMessage,
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
}

/** How long a message waits for its retry. */
interface RetryOptions {
  readonly delaySeconds?: number;
}

/** The first decision about a message, or about a batch, counts. */
type Decision =
  | { readonly kind: 'open' }
  | { readonly kind: 'ack' }
  | { readonly kind: 'retry'; readonly delaySeconds?: number };

const OPEN: Decision = { kind: 'open' };

function retry(options: RetryOptions | null | undefined): Decision {
  const { delaySeconds } = options ?? {};
  return { kind: 'retry', ...(delaySeconds !== undefined && { delaySeconds }) };
}

/** Decisions, which the code makes through `MessageBatch` and `Message`. */
export class BatchDecisions {
  #batch: Decision = OPEN;
  readonly #messages = new Map<string, Decision>();

  decide(decision: Decision): void {
    if (this.#batch.kind === 'open') this.#batch = decision;
  }

  decideOn(id: string, decision: Decision): void {
    if (!this.#messages.has(id)) this.#messages.set(id, decision);
  }

  result(outcome: QueueResult['outcome']): QueueResult {
    const batch = this.#batch;
    const decided = [...this.#messages];
    return {
      outcome,
      ackAll: batch.kind === 'ack',
      retryBatch: batch.kind === 'retry' ? delayed({ retry: true }, batch) : { retry: false },
      explicitAcks: decided.flatMap(([id, { kind }]) => (kind === 'ack' ? [id] : [])),
      retryMessages: decided.flatMap(([msgId, decision]) =>
        decision.kind === 'retry' ? [delayed({ msgId }, decision)] : [],
      ),
    };
  }
}

function delayed<T extends object>(value: T, { delaySeconds }: RetryOptions): T & RetryOptions {
  return delaySeconds === undefined ? value : { ...value, delaySeconds };
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
    this.#decisions.decideOn(this.id, { kind: 'ack' });
  }

  retry(options?: RetryOptions | null): void {
    this.#decisions.decideOn(this.id, retry(options));
  }
}

export class MessageBatch {
  readonly queue: string;
  readonly messages: readonly Message[];
  readonly #decisions: BatchDecisions;

  constructor(queue: string, messages: readonly QueueMessage[], decisions: BatchDecisions) {
    this.queue = queue;
    this.messages = messages.map((message) => new Message(message, decisions));
    this.#decisions = decisions;
  }

  ackAll(): void {
    this.#decisions.decide({ kind: 'ack' });
  }

  retryAll(options?: RetryOptions | null): void {
    this.#decisions.decide(retry(options));
  }
}

refuseToClone(ScheduledController, Message, MessageBatch);
