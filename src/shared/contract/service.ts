// Entry points as types: `ctx` as their code has it, and their stubs.

import type { Brand, Callable, ObjectResponse } from './object.ts';

/** `ctx` of an entry point, made for each event. */
export interface ExecutionContext<Props = unknown> {
  /** The props with which the entry point was called or bound; else an empty object. */
  readonly props: Props;
  /** The entry points and classes of the worker, by name. */
  // biome-ignore lint/suspicious/noExplicitAny: an export may have any members
  readonly exports: Readonly<Record<string, any>>;
  /** The event goes on until the promise settles. A rejection is reported. */
  waitUntil(work: Promise<unknown>): void;
  /** If the handler throws, the request goes to the network instead. */
  passThroughOnException(): void;
}

/** An entry point as its callers have it; a call constructs its class again. */
export type ServiceStub<T extends object = object> = Callable<T, ServiceMember> & {
  /** Delivers the request to `fetch` of the entry point. Bodies are streamed both ways. */
  fetch(input: Request | string | URL, init?: RequestInit): Promise<ObjectResponse>;
};

/** An entry point from outside of the worker: its events can be sent, too. */
export type EntryHandle<T extends object = object> = ServiceStub<T> & {
  /** Runs `scheduled`, and waits for its `waitUntil`. */
  scheduled(event?: ScheduledEvent): Promise<ScheduledResult>;
  /** Runs `queue` with one batch, and waits for its `waitUntil`. */
  queue(
    queueName: string,
    messages: readonly QueueMessage[],
    metadata?: QueueMetadata,
  ): Promise<QueueResult>;
};

type ServiceMember = 'fetch' | 'connect' | 'dup' | 'alarm' | 'scheduled' | 'queue' | 'then' | Brand;

export interface ScheduledEvent {
  /** @default '' */
  readonly cron?: string;
  /** @default now, by the clock of the objects */
  readonly scheduledTime?: Date | number;
}

export interface ScheduledResult {
  /** `exception`: the handler, or a promise of its `waitUntil`, has failed; the error is reported. */
  readonly outcome: 'ok' | 'exception';
  /** The handler has called `noRetry()`. */
  readonly noRetry: boolean;
}

export interface QueueMessage {
  readonly id: string;
  readonly timestamp: Date;
  readonly body: unknown;
  /** How often it was delivered, this time included. @default 1 */
  readonly attempts?: number;
}

/** The messages of a queue that wait. */
export interface QueueMetrics {
  readonly backlogCount: number;
  readonly backlogBytes: number;
  readonly oldestMessageTimestamp: Date | undefined;
}

/** Of a batch: the queue without it. @default an empty queue */
export interface QueueMetadata {
  readonly metrics: QueueMetrics;
}

/** The decisions of a consumer. */
export interface QueueResult {
  readonly outcome: 'ok' | 'exception';
  readonly ackAll: boolean;
  readonly retryBatch: { readonly retry: boolean; readonly delaySeconds?: number };
  /** Ids of acknowledged messages. */
  readonly explicitAcks: readonly string[];
  readonly retryMessages: readonly { readonly msgId: string; readonly delaySeconds?: number }[];
}
