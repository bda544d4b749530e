// The calls in a HAR file, the archive of requests that browsers and proxies write.

import * as v from 'valibot';
import { storageError } from '../../contract/errors.ts';
import { jsonOrNull, type RecordedCall } from './recorded-call.ts';

const Content = v.looseObject({
  text: v.optional(v.string()),
  encoding: v.optional(v.string()),
});

const Entry = v.looseObject({
  request: v.looseObject({
    method: v.string(),
    url: v.string(),
    postData: v.optional(v.looseObject({ text: v.optional(v.string()) })),
  }),
  response: v.optional(v.looseObject({ content: v.optional(Content) })),
});

const Har = v.looseObject({ log: v.looseObject({ entries: v.array(Entry) }) });

export interface HarOptions {
  /** Name of the file, for messages and for the places of calls. */
  readonly name: string;
  /** Only calls to this host, with its port where the URL has one. @default all */
  readonly host?: string;
}

/**
 * The calls in the order of the file. Bodies the file leaves out are not known to the report.
 *
 * @throws StorageError `INVALID_ARGUMENT` for a text that is no JSON or no HAR
 */
export function callsFromHar(text: string, { name, host }: HarOptions): RecordedCall[] {
  return harOf(text, name).log.entries.flatMap((entry, index) => {
    const call = callOf(entry, `${name}#log.entries[${index}]`);
    return host === undefined || hostOf(call.url) === host ? [call] : [];
  });
}

function harOf(text: string, name: string): v.InferOutput<typeof Har> {
  let value: unknown;
  try {
    // Some tools begin their files with a byte order mark.
    value = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch (error) {
    throw storageError('INVALID_ARGUMENT', `${name} is not JSON: ${(error as Error).message}`);
  }
  const checked = v.safeParse(Har, value);
  if (checked.success) return checked.output;
  const [issue] = checked.issues;
  const place = (issue.path ?? []).map(({ key }) => String(key)).join('.');
  throw storageError(
    'INVALID_ARGUMENT',
    `${name} is not a HAR file: ${place === '' ? 'it' : place} must be ${issue.expected}, ` +
      `is ${issue.received}.`,
  );
}

function callOf({ request, response }: v.InferOutput<typeof Entry>, where: string): RecordedCall {
  const { method, url, postData } = request;
  const sendsNothing = postData === undefined && /^(GET|HEAD|DELETE)$/i.test(method);
  const content = response?.content;
  return {
    method,
    url,
    where,
    ...(sendsNothing && { requestBody: null }),
    ...(postData?.text !== undefined && { requestBody: jsonOrNull(postData.text) }),
    ...(content?.text !== undefined && { responseBody: jsonOrNull(textOf(content)) }),
  };
}

function textOf({ text = '', encoding }: v.InferOutput<typeof Content>): string | null {
  if (encoding !== 'base64') return text;
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return new TextDecoder().decode(bytes);
  } catch {
    return null;
  }
}

function hostOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).host : undefined;
}
