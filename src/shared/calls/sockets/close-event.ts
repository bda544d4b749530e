// The end of a socket: `CloseEvent`, also where the engine has none (Node before 23), and the codes and reasons that
// close() accepts, with the errors of workerd.

interface CloseFacts {
  readonly code: number;
  readonly reason: string;
  readonly wasClean: boolean;
}

class PlainCloseEvent extends Event implements CloseFacts {
  readonly code: number;
  readonly reason: string;
  readonly wasClean: boolean;

  constructor(...[type, init]: [type: string, init?: EventInit & Partial<CloseFacts>]) {
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
    // The name that programs print and compare.
    Object.defineProperty(PlainCloseEvent, 'name', { value: 'CloseEvent' });
  }
}

type CloseEventClass = new (type: string, init?: EventInit & Partial<CloseFacts>) => Event;

/** The engine's class, or one like it. */
export function closeEventClass(): CloseEventClass {
  return typeof CloseEvent === 'undefined' ? PlainCloseEvent : CloseEvent;
}

export function closeEvent(facts: CloseFacts): Event {
  return new (closeEventClass())('close', facts);
}

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
