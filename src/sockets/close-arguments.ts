// The codes and reasons that close() accepts. Errors are those of workerd.

const REASON_BYTES_MAX = 123;
/** Codes that report a state and cannot be sent. */
const RESERVED: ReadonlySet<number> = new Set([1004, 1005, 1006, 1015]);
const NO_CODE = 1005;

/** The code and reason to send. @throws InvalidAccessError, SyntaxError */
export function checkClose(
  code: number | undefined,
  reason: string | undefined,
): { readonly code: number; readonly reason: string } {
  if (code === undefined) {
    if (reason !== undefined) {
      throw new DOMException(
        'If you specify a WebSocket close reason, you must also specify a code.',
        'InvalidAccessError',
      );
    }
    return { code: NO_CODE, reason: '' };
  }
  const number = Math.trunc(Number(code)) || 0;
  if (number < 1000 || number > 4999 || RESERVED.has(number)) {
    throw new DOMException(`Invalid WebSocket close code: ${number}.`, 'InvalidAccessError');
  }
  const text = reason === undefined ? '' : String(reason);
  if (new TextEncoder().encode(text).length > REASON_BYTES_MAX) {
    throw new DOMException(
      `WebSocket close reason must not be longer than ${REASON_BYTES_MAX} bytes when UTF-8 encoded.`,
      'SyntaxError',
    );
  }
  return { code: number, reason: text };
}
