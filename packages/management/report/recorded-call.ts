// A client's call, as the report reads it, whichever way it was recorded.

export interface RecordedCall {
  readonly method: string;
  /** A whole URL, or its path. */
  readonly url: string;
  /** The decoded JSON that was sent; null for a call without a body, absent if it is unknown. */
  readonly requestBody?: unknown;
  /** The decoded JSON that came back; null for an answer without JSON, absent if it is unknown. */
  readonly responseBody?: unknown;
  /** Where it was recorded: a file and a location in it separated by `#`, or any readable text. */
  readonly where?: string;
}

/** The value of a JSON text; null if the text is empty or not JSON. */
export function jsonOrNull(text: string | null | undefined): unknown {
  if (!text) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Whether requests of the method never have a body. With other methods, a missing body may be unread. */
export function isBodiless(method: string): boolean {
  return /^(GET|HEAD|DELETE)$/i.test(method);
}
