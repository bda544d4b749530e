// The object that stores the messages of one queue. Its alarm delivers them to the consumer, one batch after the other.
//
// Invariant: a message is deleted only after its consumer acknowledged it, or after the dead-letter queue stored it. So
// a crash delivers it again, and does not count as one of its retries.

import type {
  DurableObjectNamespace,
  EntryHandle,
  QueueMetrics,
  QueueResult,
} from '@ctx-storage/core/object';
import { DurableObject } from '@ctx-storage/worker/realm';
import { outcomeOf } from '../event-outcome.ts';
import { bodyIn, type SentMessage } from './sent-message.ts';

export interface Consumer {
  readonly entry: EntryHandle;
  readonly batchMax: number;
  readonly timeoutMs: number;
  readonly retriesMax: number;
  readonly retryDelaySeconds: number;
  readonly deadLetterQueue: string | null;
}

/** One of the app's queues, as its binding describes it. The `env` of each queue's object lists all of them. */
export interface AppQueue {
  readonly name: string;
  readonly objects: DurableObjectNamespace<QueueObject>;
  readonly consumer?: Consumer;
}

type Row = {
  place: number;
  id: string;
  timestamp: number;
  type: string;
  body: ArrayBuffer;
  attempts: number;
  failures: number;
};

/** The decision about a delivered message; `delaySeconds` is the delay that the consumer's code asked for. */
type Decision =
  | { readonly kind: 'ack' }
  | { readonly kind: 'retry'; readonly delaySeconds?: number };

// Messages are delivered in the order of `due`, then of `place`.
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS message(
    place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, timestamp INTEGER NOT NULL, due INTEGER NOT NULL,
    type TEXT NOT NULL, body BLOB NOT NULL, attempts INTEGER NOT NULL, failures INTEGER NOT NULL);
  CREATE INDEX IF NOT EXISTS by_due ON message(due, place);`;

const HANDLER_NOT_REACHED: QueueResult = {
  outcome: 'exception',
  ackAll: false,
  retryBatch: { retry: false },
  explicitAcks: [],
  retryMessages: [],
};

export class QueueObject extends DurableObject<Readonly<Record<string, AppQueue>>> {
  readonly #consumer: Consumer | undefined;
  /** The column `place` of each message that the consumer has now. */
  #delivering: readonly number[] = [];

  /** Checks the queues. @throws Error for a queue with two consumers */
  constructor(ctx: DurableObject['ctx'], env: Readonly<Record<string, AppQueue>>) {
    super(ctx, env);
    const consumers = Object.entries(env).filter(
      ([, { name, consumer }]) => name === ctx.id.name && consumer !== undefined,
    );
    if (consumers.length > 1) {
      const bindings = consumers.map(([binding]) => binding).join(' and ');
      throw new Error(`The queue "${ctx.id.name}" has two consumers, of ${bindings}; give it one.`);
    }
    this.#consumer = consumers[0]?.[1].consumer;
    ctx.storage.sql.exec(SCHEMA);
  }

  /** Stores the messages, except a dead letter that is stored already. Returns the metrics from before the call. */
  async put(messages: readonly SentMessage[]): Promise<QueueMetrics> {
    const now = Date.now();
    const before = this.metrics();
    for (const { contentType, bytes, delaySeconds, id, timestamp } of messages) {
      this.#sql.exec(
        `INSERT OR IGNORE INTO message(id, timestamp, due, type, body, attempts, failures, place)
         VALUES (?, ?, ?, ?, ?, 0, 0, (SELECT coalesce(max(place), 0) + 1 FROM message))`,
        id ?? randomId(),
        timestamp ?? now,
        now + delaySeconds * 1000,
        contentType,
        bytes,
      );
    }
    await this.#setAlarmForNextBatch();
    return before;
  }

  metrics(): QueueMetrics {
    const { count, bytes, oldest } = this.#sql
      .exec<{ count: number; bytes: number; oldest: number | null }>(
        `SELECT count(*) AS count, coalesce(sum(length(body)), 0) AS bytes, min(timestamp) AS oldest
         FROM message WHERE due <= ? AND place NOT IN (SELECT value FROM json_each(?))`,
        Date.now(),
        JSON.stringify(this.#delivering),
      )
      .one();
    return {
      backlogCount: count,
      backlogBytes: bytes,
      oldestMessageTimestamp: oldest === null ? undefined : new Date(oldest),
    };
  }

  /** Sets the alarm after the host has started. */
  async wake(): Promise<void> {
    await this.#setAlarmForNextBatch();
  }

  async alarm(): Promise<void> {
    if (this.#consumer !== undefined) await this.#deliver(this.#consumer);
    await this.#setAlarmForNextBatch();
  }

  async #deliver(consumer: Consumer): Promise<void> {
    const rows = this.#sql
      .exec<Row>(
        'SELECT * FROM message WHERE due <= ? ORDER BY due, place LIMIT ?',
        Date.now(),
        consumer.batchMax,
      )
      .toArray();
    if (rows.length === 0) return;
    this.#delivering = rows.map(({ place }) => place);
    try {
      const result = await this.#sendToHandler(consumer.entry, rows);
      await this.#applyDecisions(consumer, rows, result);
    } finally {
      this.#delivering = [];
    }
  }

  async #sendToHandler(entry: EntryHandle, rows: readonly Row[]): Promise<QueueResult> {
    for (const { place } of rows) {
      this.#sql.exec('UPDATE message SET attempts = attempts + 1 WHERE place = ?', place);
    }
    const messages = rows.map(({ id, timestamp, type, body, attempts }) => ({
      id,
      timestamp: new Date(timestamp),
      body: bodyIn(new Uint8Array(body), type),
      attempts: attempts + 1,
    }));
    const event = entry.queue(this.#name, messages, { metrics: this.metrics() });
    return (await outcomeOf(event)) ?? HANDLER_NOT_REACHED;
  }

  async #applyDecisions(
    consumer: Consumer,
    rows: readonly Row[],
    result: QueueResult,
  ): Promise<void> {
    const decisionFor = decisionsOf(result);
    const decided = rows.map((row) => ({ row, decision: decisionFor(row.id) }));
    const hasNoRetryLeft = ({ failures }: Row) => failures >= consumer.retriesMax;
    const exhausted = decided.flatMap(({ row, decision }) =>
      decision.kind === 'retry' && hasNoRetryLeft(row) ? [row] : [],
    );
    if (exhausted.length > 0) await this.#moveToDeadLetters(consumer, exhausted);
    for (const { row, decision } of decided) {
      if (decision.kind === 'ack' || hasNoRetryLeft(row)) {
        this.#sql.exec('DELETE FROM message WHERE place = ?', row.place);
        continue;
      }
      const { delaySeconds = consumer.retryDelaySeconds } = decision;
      this.#sql.exec(
        `UPDATE message SET failures = failures + 1, due = ?,
         place = (SELECT max(place) + 1 FROM message) WHERE place = ?`,
        Date.now() + delaySeconds * 1000,
        row.place,
      );
    }
  }

  /**
   * Moves messages whose retries are used up to the dead-letter queue, or drops them with a warning if there is none.
   */
  async #moveToDeadLetters({ deadLetterQueue }: Consumer, rows: readonly Row[]): Promise<void> {
    if (deadLetterQueue === null) {
      const ids = rows.map(({ id }) => id).join(', ');
      console.warn(`Queue ${this.#name} dropped after their last retry: ${ids}`);
      return;
    }
    const { objects } = Object.values(this.env)[0]!;
    await objects.getByName(deadLetterQueue).put(
      rows.map(({ id, timestamp, type, body }) => ({
        id,
        timestamp,
        contentType: type as SentMessage['contentType'],
        bytes: new Uint8Array(body),
        delaySeconds: 0,
      })),
    );
  }

  /** Sets the alarm to the time at which a batch is full, or its first message has waited for `timeoutMs`. */
  async #setAlarmForNextBatch(): Promise<void> {
    if (this.#consumer === undefined || this.#delivering.length > 0) return;
    const { batchMax, timeoutMs } = this.#consumer;
    const { first, full } = this.#sql
      .exec<{ first: number | null; full: number | null }>(
        `SELECT (SELECT min(due) FROM message) AS first,
         (SELECT due FROM message ORDER BY due, place LIMIT 1 OFFSET ?) AS full`,
        batchMax - 1,
      )
      .one();
    if (first === null) return;
    await this.ctx.storage.setAlarm(Math.min(first + timeoutMs, full ?? Number.POSITIVE_INFINITY));
  }

  get #name(): string {
    return this.ctx.id.name!;
  }

  get #sql() {
    return this.ctx.storage.sql;
  }
}

/**
 * Returns the function that decides about a message by its id. A decision about the message itself counts first, then a
 * decision about the whole batch, then whether the handler failed.
 */
function decisionsOf(result: QueueResult): (id: string) => Decision {
  const { outcome, ackAll, retryBatch, explicitAcks, retryMessages } = result;
  const acks = new Set(explicitAcks);
  const retries = new Map(retryMessages.map(({ msgId, ...retry }) => [msgId, retry]));
  const { delaySeconds } = retryBatch;
  const batchRetry: Decision = {
    kind: 'retry',
    ...(delaySeconds !== undefined && { delaySeconds }),
  };
  return (id) => {
    if (acks.has(id)) return { kind: 'ack' };
    const retry = retries.get(id);
    if (retry !== undefined) return { ...batchRetry, ...retry };
    if (ackAll) return { kind: 'ack' };
    return retryBatch.retry || outcome !== 'ok' ? batchRetry : { kind: 'ack' };
  };
}

function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
