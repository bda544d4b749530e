// Defines the types of entry points: the `ctx` of their code, and their stubs.

import type { Brand, Callable, ObjectResponse } from './object.ts';

/** The `ctx` of an entry point. Each event gets a new one. */
export interface ExecutionContext<Props = unknown> {
  /** The props with which the entry point was bound or exported; an empty object without props. */
  readonly props: Props;
  /** The entry points and classes of the worker, by name. */
  // biome-ignore lint/suspicious/noExplicitAny: an export may have any members
  readonly exports: Readonly<Record<string, any>>;
  /** Prolongs the event until the promise settles. A rejection is reported. */
  waitUntil(work: Promise<unknown>): void;
  /** Makes the request go to the network if the handler throws. */
  passThroughOnException(): void;
}

/** The stub of an entry point. Each call constructs the entry point's class anew. */
export type ServiceStub<T extends object = object> = Callable<T, ServiceMember> & {
  /** Delivers the request to `fetch` of the entry point. Bodies are streamed both ways. */
  fetch(input: Request | string | URL, init?: RequestInit): Promise<ObjectResponse>;
};

/** The stub of an entry point for code outside of the worker, which can also send events. */
export type EntryHandle<T extends object = object> = ServiceStub<T> & {
  /** Runs `scheduled`, and waits for the promises that it passes to `waitUntil`. */
  scheduled(event?: ScheduledEvent): Promise<ScheduledResult>;
  /** Runs `queue` with one batch, and waits for the promises that it passes to `waitUntil`. */
  queue(
    queueName: string,
    messages: readonly QueueMessage[],
    metadata?: QueueMetadata,
  ): Promise<QueueResult>;
};

type ServiceMember = 'fetch' | 'connect' | 'dup' | 'alarm' | 'scheduled' | 'queue' | 'then' | Brand;

export interface ScheduledEvent {
  /** The cron expression that caused the event. @default '' */
  readonly cron?: string;
  /** The time for which the event was scheduled. @default now, by the clock of the objects */
  readonly scheduledTime?: Date | number;
}

export interface ScheduledResult {
  /** `exception`: the handler, or a promise of its `waitUntil`, has failed; the error is reported. */
  readonly outcome: 'ok' | 'exception';
  /** True if the handler has called `noRetry()`. */
  readonly noRetry: boolean;
}

export interface QueueMessage {
  readonly id: string;
  readonly timestamp: Date;
  readonly body: unknown;
  /** The number of deliveries, including this one. @default 1 */
  readonly attempts?: number;
}

/** The number and size of the waiting messages of a queue. */
export interface QueueMetrics {
  readonly backlogCount: number;
  readonly backlogBytes: number;
  readonly oldestMessageTimestamp: Date | undefined;
}

/** The metadata of a batch: the queue without this batch. @default an empty queue */
export interface QueueMetadata {
  readonly metrics: QueueMetrics;
}

/** The consumer's decisions about the messages of a batch. */
export interface QueueResult {
  readonly outcome: 'ok' | 'exception';
  readonly ackAll: boolean;
  readonly retryBatch: { readonly retry: boolean; readonly delaySeconds?: number };
  /** The ids of acknowledged messages. */
  readonly explicitAcks: readonly string[];
  readonly retryMessages: readonly { readonly msgId: string; readonly delaySeconds?: number }[];
}
