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
  return Array.isArray(message) && message.length === 3 && typeof message[0] === 'number';
}

export function isAnswer(message: unknown): message is AnswerMessage {
  return Array.isArray(message) && message.length === 2 && typeof message[0] === 'number';
}

/** How much a message asks for, or answers: one thing, or each of a list. */
export function partCount(message: unknown): number {
  if (isAnswer(message)) return listLength(message[1]);
  if (!isRequest(message) || !Array.isArray(message[2])) return 1;
  return message[2].reduce<number>((most, value) => Math.max(most, listLength(value)), 1);
}

/** Whom a message is for: a call's first parameter is its session or object. Answers are for one caller. */
export function receiverOf(message: unknown): unknown {
  return isRequest(message) && Array.isArray(message[2]) ? message[2][0] : undefined;
}

function listLength(value: unknown): number {
  return Array.isArray(value) ? Math.max(value.length, 1) : 1;
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
