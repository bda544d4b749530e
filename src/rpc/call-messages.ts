// A call of a peer's function, and its answer, as they travel between two threads: short arrays. A
// message costs more with each object and name in it, on both sides, and most calls do less than that.
//
// Does not know: which functions there are, and what they take.

/** The caller chooses the number, which comes back with the answer. */
export type CallMessage = readonly [number: number, name: string, parameters: readonly unknown[]];

export type AnswerMessage = readonly [number: number, answer: unknown];

/** A message that asks for an answer, which it gets also if no function has that name. */
export type Request = readonly [number: number, name: unknown, parameters: unknown];

export function isRequest(message: unknown): message is Request {
  return isNumbered(message, 3);
}

export function isAnswer(message: unknown): message is AnswerMessage {
  return isNumbered(message, 2);
}

function isNumbered(message: unknown, length: number): boolean {
  return Array.isArray(message) && message.length === length && typeof message[0] === 'number';
}

/** How much a call or an answer has in it: one thing, or each of a list that it ends with. */
export function partCount(message: unknown): number {
  const last = isAnswer(message) ? message[1] : parametersOf(message).at(-1);
  return Array.isArray(last) ? Math.max(last.length, 1) : 1;
}

/** Whom a message is for: a call's first parameter is its session or object. Answers are for one caller. */
export function receiverOf(message: unknown): unknown {
  return parametersOf(message)[0];
}

function parametersOf(message: unknown): readonly unknown[] {
  return isRequest(message) ? (message as CallMessage)[2] : [];
}

/** What the caller's side hears of a call that could not be sent. No peer can send it: it is of a class. */
export class UnsentCall {
  readonly number: number;
  readonly cause: unknown;

  constructor(number: number, cause: unknown) {
    this.number = number;
    this.cause = cause;
  }
}
