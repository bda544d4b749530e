// Provides `CloseEvent` where the engine lacks it (Node before 23), and checks the code and reason of `close()`, with the
// errors of workerd.

interface CloseDetails {
  readonly code: number;
  readonly reason: string;
  readonly wasClean: boolean;
}

class PlainCloseEvent extends Event implements CloseDetails {
  readonly code: number;
  readonly reason: string;
  readonly wasClean: boolean;

  constructor(...[type, init]: [type: string, init?: EventInit & Partial<CloseDetails>]) {
    if (type === undefined) {
      throw new TypeError("Failed to construct 'CloseEvent': 1 argument required: the type.");
    }
    super(type, init);
    this.code = Number(init?.code ?? 0);
    this.reason = String(init?.reason ?? '');
    this.wasClean = Boolean(init?.wasClean);
  }

  get [Symbol.toStringTag](): string {
    return 'CloseEvent';
  }

  static {
    // Programs print and compare the class's name.
    Object.defineProperty(PlainCloseEvent, 'name', { value: 'CloseEvent' });
  }
}

type CloseEventClass = new (type: string, init?: EventInit & Partial<CloseDetails>) => Event;

/** Returns the engine's class, or this file's replacement. */
export function closeEventClass(): CloseEventClass {
  return typeof CloseEvent === 'undefined' ? PlainCloseEvent : CloseEvent;
}

export function closeEvent(facts: CloseDetails): Event {
  return new (closeEventClass())('close', facts);
}

const REASON_BYTES_MAX = 123;
/** The codes that only report a state, and cannot be sent. */
const RESERVED_CODES: ReadonlySet<number> = new Set([1004, 1005, 1006, 1015]);
const CODE_ABSENT = 1005;

/** Checks the arguments of `close()` and returns the code and reason to send. @throws InvalidAccessError, SyntaxError */
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
    return { code: CODE_ABSENT, reason: '' };
  }
  const number = Math.trunc(Number(code)) || 0;
  if (number < 1000 || number > 4999 || RESERVED_CODES.has(number)) {
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
