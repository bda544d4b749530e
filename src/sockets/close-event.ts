// `CloseEvent`, also where the engine has none (Node before 23).

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
    // What programs print and compare.
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
