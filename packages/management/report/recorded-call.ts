// A client's call, as the report reads it. It does not depend on how the call was recorded.

export interface RecordedCall {
  readonly method: string;
  /** The whole URL, or only its path. */
  readonly url: string;
  /** The decoded JSON that was sent; null for a call without a body, absent if it is unknown. */
  readonly requestBody?: unknown;
  /** The decoded JSON that came back; null for an answer without JSON, absent if it is unknown. */
  readonly responseBody?: unknown;
  /** Where the call was recorded: a file and a location in it separated by `#`, or any readable text. */
  readonly where?: string;
}

/** Parses a JSON text; returns null if the text is empty or not JSON. */
export function jsonOrNull(text: string | null | undefined): unknown {
  if (!text) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * Returns whether requests of the method never have a body. With other methods, a body that is missing may only be
 * unread.
 */
export function isBodiless(method: string): boolean {
  return /^(GET|HEAD|DELETE)$/i.test(method);
}
