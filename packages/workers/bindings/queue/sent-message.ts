// Converts and checks the messages that a producer sends, with the limits and error messages of Workers.

import { deserialize, serialize } from '@ctx-storage/core/values';

const MESSAGE_BYTES_MAX = 128_000;
const BATCH_BYTES_MAX = 288_000;
const BATCH_MESSAGES_MAX = 100;
const DELAY_SECONDS_MAX = 86_400;

const CONTENT_TYPES = ['text', 'bytes', 'json', 'v8'] as const;

type ContentType = (typeof CONTENT_TYPES)[number];

export interface SentMessage {
  readonly contentType: ContentType;
  readonly bytes: Uint8Array;
  readonly delaySeconds: number;
  /** The id of a dead letter, which keeps the id that it had in its queue. */
  readonly id?: string;
  /** The time at which a dead letter was first sent, in milliseconds since the epoch. */
  readonly timestamp?: number;
}

export interface QueueSendOptions {
  /** The content type of the body. @default 'json' */
  readonly contentType?: string;
  /** The delay of the message, in seconds. @default the `deliveryDelay` of the queue */
  readonly delaySeconds?: number;
}

export type MessageSendRequest = QueueSendOptions & { readonly body: unknown };

/**
 * Converts the arguments of `send`.
 *
 * @throws TypeError, DataCloneError or Error if an argument is not valid, and errors of a `toJSON`
 */
export function convertMessage(
  body: unknown,
  options: unknown,
  defaultDelaySeconds: number,
): SentMessage {
  const { contentType, delaySeconds } = optionsOf<QueueSendOptions>('send', options);
  // As in workerd, `send` accepts content types in capitals, and `sendBatch` does not.
  const type = contentType === undefined ? undefined : String(contentType).toLowerCase();
  const bytes = bytesOf(body, type, contentType);
  if (bytes.length > MESSAGE_BYTES_MAX) {
    throw new Error(
      `Queue send failed: message length of ${bytes.length} bytes exceeds limit of ${MESSAGE_BYTES_MAX}`,
    );
  }
  const delay = convertDelay('send', delaySeconds, defaultDelaySeconds);
  return { contentType: (type ?? 'json') as ContentType, bytes, delaySeconds: delay };
}

/** Converts the arguments of `sendBatch`. @throws the same errors as `convertMessage` */
export function convertBatch(
  batch: unknown,
  options: unknown,
  defaultDelaySeconds: number,
): SentMessage[] {
  const requests = requestsIn(batch);
  if (requests.length === 0) throw new TypeError('sendBatch() requires at least one message');
  const { delaySeconds } = optionsOf<QueueSendOptions>('sendBatch', options);
  const delay = convertDelay('sendBatch', delaySeconds, defaultDelaySeconds);
  const messages = requests.map((request): SentMessage => {
    const { body, contentType, delaySeconds } = request;
    const type = contentType === undefined ? undefined : String(contentType);
    return {
      contentType: (type ?? 'json') as ContentType,
      bytes: bytesOf(body, type, contentType),
      delaySeconds: convertDelay('sendBatch', delaySeconds, delay),
    };
  });
  checkBatch(messages.map(({ bytes }) => bytes.length));
  return messages;
}

/** Returns the body that the consumer gets, from the stored bytes and their content type. */
export function bodyIn(bytes: Uint8Array, type: string): unknown {
  switch (type) {
    case 'text':
      return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
    case 'json':
      return JSON.parse(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes));
    case 'v8':
      return deserialize(bytes);
    default:
      return bytes.slice().buffer;
  }
}

function checkBatch(lengths: readonly number[]): void {
  const largest = Math.max(...lengths);
  const total = lengths.reduce((sum, length) => sum + length, 0);
  if (lengths.length > BATCH_MESSAGES_MAX) {
    refuseBatch(`batch message count of ${lengths.length} exceeds limit of ${BATCH_MESSAGES_MAX}`);
  }
  if (largest > MESSAGE_BYTES_MAX) {
    refuseBatch(
      `message in batch has length ${largest} bytes which exceeds single message size limit of ${MESSAGE_BYTES_MAX}`,
    );
  }
  if (total > BATCH_BYTES_MAX) {
    refuseBatch(`batch size of ${total} bytes exceeds limit of ${BATCH_BYTES_MAX}`);
  }
}

function refuseBatch(fact: string): never {
  throw new Error(`Queue sendBatch failed: ${fact}`);
}

/** Returns a copy of the body as bytes. `given` is the content type as the caller wrote it, for the error message. */
function bytesOf(body: unknown, type: string | undefined, given: unknown): Uint8Array {
  if (body === undefined) throw new TypeError('Message body cannot be undefined');
  switch (type) {
    case 'text':
      if (typeof body !== 'string') throw wrongBody(type, 'string', body);
      return new TextEncoder().encode(body);
    case 'bytes':
      if (!ArrayBuffer.isView(body)) throw wrongBody(type, 'ArrayBufferView', body);
      return new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice();
    case 'v8':
      return serialize(body);
    case undefined:
    case 'json': {
      const json = JSON.stringify(body) as string | undefined;
      if (json !== undefined) return new TextEncoder().encode(json);
      throw new TypeError(`Message body has no JSON form, but is of type ${typeof body}`);
    }
    default:
      throw new TypeError(`Unsupported queue message content type: ${given}`);
  }
}

function wrongBody(type: string, neededType: string, body: unknown): TypeError {
  return new TypeError(
    `Content Type "${type}" requires a value of type ${neededType}, but received: ${typeof body}`,
  );
}

/** Converts a delay to whole seconds, as Web IDL converts a `long`. @throws Error if it is out of range */
function convertDelay(method: string, given: unknown, defaultSeconds: number): number {
  if (given === undefined) return defaultSeconds;
  const seconds = Math.trunc(Number(given)) || 0;
  if (seconds >= 0 && seconds <= DELAY_SECONDS_MAX) return seconds;
  throw new Error(
    `Queue ${method} failed: message delay of ${seconds} seconds is not from 0 to ${DELAY_SECONDS_MAX}`,
  );
}

function optionsOf<T extends object>(method: string, options: unknown): Partial<T> {
  if (options === undefined || options === null) return {};
  if (typeof options === 'object' || typeof options === 'function') return options;
  throw new TypeError(
    `Failed to execute '${method}' on 'WorkerQueue': parameter 2 is not of type 'SendOptions'.`,
  );
}

function requestsIn(batch: unknown): MessageSendRequest[] {
  const isList = typeof batch === 'object' && batch !== null && Symbol.iterator in batch;
  const requests = isList ? [...(batch as Iterable<unknown>)] : [undefined];
  if (requests.every((request) => typeof request === 'object' && request !== null)) {
    return requests as MessageSendRequest[];
  }
  throw new TypeError(
    "Failed to execute 'sendBatch' on 'WorkerQueue': parameter 1 is not a list of messages, each { body }.",
  );
}
