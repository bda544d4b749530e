// Reads the calls in a HAR file, the archive of requests that browsers and proxies write.

import { storageError } from '@ctx-storage/core/errors';
import * as v from 'valibot';
import { isBodiless, jsonOrNull, type RecordedCall } from './recorded-call.ts';

// Some tools write null for a missing part, so every part may be null.
const Content = v.looseObject({
  text: v.nullish(v.string()),
  encoding: v.nullish(v.string()),
});

const Entry = v.looseObject({
  request: v.looseObject({
    method: v.string(),
    url: v.string(),
    bodySize: v.nullish(v.number()),
    postData: v.nullish(v.looseObject({ text: v.nullish(v.string()) })),
  }),
  response: v.nullish(v.looseObject({ content: v.nullish(Content) })),
});

const Har = v.looseObject({ log: v.looseObject({ entries: v.array(Entry) }) });

export interface HarOptions {
  /** The name of the file, for error messages and for the locations of calls. */
  readonly name: string;
}

/**
 * Returns the calls in the order of the file. The report treats bodies that the file omits as unknown.
 *
 * @throws StorageError `INVALID_ARGUMENT` if the text is not JSON or not HAR
 */
export function callsFromHar(text: string, { name }: HarOptions): RecordedCall[] {
  return harOf(text, name).log.entries.map((entry, index) =>
    callOf(entry, `${name}#log.entries[${index}]`),
  );
}

function harOf(text: string, name: string): v.InferOutput<typeof Har> {
  let value: unknown;
  try {
    // Some tools write a byte order mark, which JSON.parse refuses.
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
  const { method, url, postData, bodySize } = request;
  const hasNoBody = !postData && isBodiless(method);
  // If Playwright was told to leave bodies out, it writes an empty text with the real size.
  const isOmitted = postData?.text === '' && (bodySize ?? 0) > 0;
  const sent = isOmitted ? undefined : postData?.text;
  const content = response?.content;
  const received = content?.text;
  return {
    method,
    url,
    where,
    ...(hasNoBody && { requestBody: null }),
    ...(typeof sent === 'string' && { requestBody: jsonOrNull(sent) }),
    ...(typeof received === 'string' && {
      responseBody: jsonOrNull(decodeText(received, content?.encoding)),
    }),
  };
}

function decodeText(text: string, encoding: string | null | undefined): string | null {
  if (encoding !== 'base64') return text;
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return new TextDecoder().decode(bytes);
  } catch {
    return null;
  }
}
