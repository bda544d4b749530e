// The requests of a Playwright page or context, recorded for the report.
//
// Requests that Playwright's own `request` fixture sends are not among a page's; they have no events.
// Bodies it cannot read, such as those of an unmodified Firefox, are unknown to the report.

import type { LookupOptions } from '../schedule/lookup.ts';
import { CallLog } from './call-log.ts';
import { mayShowFields } from './record-requests.ts';
import { isBodiless, jsonOrNull, type RecordedCall } from './recorded-call.ts';

/** What is used of Playwright's request. */
export interface PageRequest {
  method(): string;
  url(): string;
  postData(): string | null;
  response(): Promise<{ text(): Promise<string> } | null>;
}

type Listener = (request: PageRequest) => void;

/** What is used of Playwright's pages and contexts: both have these events. */
export interface RecordedPage {
  on(event: 'requestfinished', listener: Listener): unknown;
  on(event: 'requestfailed', listener: Listener): unknown;
  off(event: 'requestfinished', listener: Listener): unknown;
  off(event: 'requestfailed', listener: Listener): unknown;
}

export interface PageRecorder {
  readonly log: CallLog;
  /** Ends the recording; what was recorded stays. */
  stop(): void;
}

/** Records every request of the page or context that ends from now on, also one that fails. */
export function recordPage(page: RecordedPage, options: LookupOptions = {}): PageRecorder {
  const log = new CallLog();
  const listener: Listener = (request) => log.add(recorded(request, options));
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
 * The same as a fixture: `test.extend<{ calls: CallLog }>({ calls: recordedCalls })` gives a test what
 * the pages of its context call.
 */
export async function recordedCalls(
  { context }: { readonly context: RecordedPage },
  use: (log: CallLog) => Promise<void>,
): Promise<void> {
  const { log, stop } = recordPage(context);
  await use(log);
  stop();
}

async function recorded(request: PageRequest, options: LookupOptions): Promise<RecordedCall> {
  const call = { method: request.method(), url: request.url() };
  if (!mayShowFields(call.method, call.url, options)) return call;
  const sent = request.postData();
  // A page that was closed meanwhile no longer has the body.
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
