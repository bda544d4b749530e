// Makes a `fetch` that records its calls for the report.
//
// It changes neither requests nor answers. It reads bodies only if the schedule names a field of the operation, and
// answers only if they are JSON.

import { type LookupOptions, lookup } from '../schedule/lookup.ts';
import { CallLog } from './call-log.ts';
import { jsonOrNull, type RecordedCall } from './recorded-call.ts';

export interface RecordOptions extends LookupOptions {
  /**
   * Returns a text that says where a call comes from. The function is called for every call.
   *
   * @default calls have no such text
   */
  readonly where?: () => string;
}

/** The log, and the `fetch` that fills it. */
export interface RequestRecorder {
  readonly log: CallLog;
  readonly fetch: typeof fetch;
}

/**
 * Records the requests sent through `send`. Use the `fetch` of the result in its place.
 *
 * A call is recorded whether it succeeds or fails.
 */
export function recordRequests(
  send: typeof fetch = fetch,
  options: RecordOptions = {},
): RequestRecorder {
  const log = new CallLog();
  return {
    log,
    fetch(input, init) {
      const { method, url } = targetOf(input, init);
      const call = { method, url, ...(options.where && { where: options.where() }) };
      const readsBodies = needsBodies(method, url, options);
      // Reading starts before the request is sent, because sending consumes the body.
      const sent = readsBodies ? requestText(input, init) : undefined;
      const answer = send(input, init);
      const received = readsBodies ? answer.then(responseText) : undefined;
      log.add(withBodies(call, sent, received));
      return answer;
    },
  };
}

function targetOf(input: RequestInfo | URL, init: RequestInit | undefined) {
  const isRequest = input instanceof Request;
  const method = (init?.method ?? (isRequest ? input.method : 'GET')).toUpperCase();
  return { method, url: isRequest ? input.url : String(input) };
}

/** Returns whether the schedule has, on any day, a change of this operation that only bodies show. */
export function needsBodies(method: string, url: string, options: LookupOptions): boolean {
  return lookup(method, url, '9999-12-31', options).state === 'modified';
}

async function requestText(
  input: RequestInfo | URL,
  init: RequestInit | undefined,
): Promise<string | null | undefined> {
  if (init?.body !== undefined && init.body !== null) {
    return typeof init.body === 'string' ? init.body : undefined;
  }
  return input instanceof Request ? input.clone().text() : null;
}

async function responseText(response: Response): Promise<string | null> {
  const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '');
  return isJson ? response.clone().text() : null;
}

async function withBodies(
  call: RecordedCall,
  sent: Promise<string | null | undefined> | undefined,
  received: Promise<string | null> | undefined,
): Promise<RecordedCall> {
  // A call that failed, or whose body was cut off, is still recorded.
  const [request, response] = await Promise.all([
    sent?.catch(() => undefined),
    received?.catch(() => undefined),
  ]);
  return {
    ...call,
    ...(request !== undefined && { requestBody: jsonOrNull(request) }),
    ...(response !== undefined && { responseBody: jsonOrNull(response) }),
  };
}
