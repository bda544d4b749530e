// A call a client made, as the report reads it, whoever recorded it.

export interface RecordedCall {
  readonly method: string;
  /** A whole URL, or its path. */
  readonly url: string;
  /** The decoded JSON that was sent; null for a call without a body, absent when it is not known. */
  readonly requestBody?: unknown;
  /** The decoded JSON that came back; null for an answer without JSON, absent when it is not known. */
  readonly responseBody?: unknown;
  /** Where it was seen: a file and a place in it with `#` between, or other words for people. */
  readonly where?: string;
}

/** The value of a JSON text; null when it is empty or no JSON. */
export function jsonOrNull(text: string | null | undefined): unknown {
  if (!text) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Whether requests of the method have no body; of others one that is not there may be unread. */
export function isBodiless(method: string): boolean {
  return /^(GET|HEAD|DELETE)$/i.test(method);
}
