// A close event, also where the engine has no class for it (Node before 23).

interface CloseFacts {
  readonly code: number;
  readonly reason: string;
  readonly wasClean: boolean;
}

class PlainCloseEvent extends Event implements CloseFacts {
  readonly code: number;
  readonly reason: string;
  readonly wasClean: boolean;

  constructor({ code, reason, wasClean }: CloseFacts) {
    super('close');
    this.code = code;
    this.reason = reason;
    this.wasClean = wasClean;
  }
}

export function closeEvent({ code, reason, wasClean }: CloseFacts): Event {
  return typeof CloseEvent === 'undefined'
    ? new PlainCloseEvent({ code, reason, wasClean })
    : new CloseEvent('close', { code, reason, wasClean });
}
