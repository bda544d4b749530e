// Records the requests of a Playwright page or context for the report.
//
// Requests of Playwright's own `request` fixture are not recorded, because they have no events. Bodies that Playwright
// cannot read, such as those of an unmodified Firefox, are treated as unknown.

import type { LookupOptions } from '../schedule/lookup.ts';
import { CallLog } from './call-log.ts';
import { needsBodies } from './record-requests.ts';
import { isBodiless, jsonOrNull, type RecordedCall } from './recorded-call.ts';

/** The members of Playwright's request that this file uses. */
export interface PageRequest {
  method(): string;
  url(): string;
  postData(): string | null;
  response(): Promise<{ text(): Promise<string> } | null>;
}

type Listener = (request: PageRequest) => void;

/** The members of Playwright's pages and contexts that this file uses; both have these events. */
export interface RecordedPage {
  on(event: 'requestfinished', listener: Listener): unknown;
  on(event: 'requestfailed', listener: Listener): unknown;
  off(event: 'requestfinished', listener: Listener): unknown;
  off(event: 'requestfailed', listener: Listener): unknown;
}

export interface PageRecorder {
  readonly log: CallLog;
  /** Stops the recording. Calls that were already recorded stay in the log. */
  stop(): void;
}

/** Records every request of the page or context that ends from now on, including failed ones. */
export function recordPage(page: RecordedPage, options: LookupOptions = {}): PageRecorder {
  const log = new CallLog();
  const listener: Listener = (request) => log.add(recordRequest(request, options));
  page.on('requestfinished', listener);
  page.on('requestfailed', listener);
  return {
    log,
    stop() {
      page.off('requestfinished', listener);
      page.off('requestfailed', listener);
    },
  };
}

/**
 * A fixture that records during a test: `test.extend<{ calls: CallLog }>({ calls: recordedCalls })` gives the test the
 * calls of all pages of its context.
 */
export async function recordedCalls(
  { context }: { readonly context: RecordedPage },
  use: (log: CallLog) => Promise<void>,
): Promise<void> {
  const { log, stop } = recordPage(context);
  await use(log);
  stop();
}

async function recordRequest(request: PageRequest, options: LookupOptions): Promise<RecordedCall> {
  const call = { method: request.method(), url: request.url() };
  if (!needsBodies(call.method, call.url, options)) return call;
  const sent = request.postData();
  // The body cannot be read if the page has been closed.
  const received = await responseText(request).catch(() => undefined);
  return {
    ...call,
    ...((sent !== null || isBodiless(call.method)) && { requestBody: jsonOrNull(sent) }),
    ...(received !== undefined && { responseBody: jsonOrNull(received) }),
  };
}

async function responseText(request: PageRequest): Promise<string | undefined> {
  const response = await request.response();
  return response?.text();
}
