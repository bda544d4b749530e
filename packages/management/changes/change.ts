// A dated change of the interface: converts calls from the form before it to the form after it, and
// answers back.
//
// Its entry in the schedule says to which operations it applies, and until which date. Calls pass through
// the earliest change first, answers through the latest first.

import type { Answer, Call } from '../call/call.ts';
import { fillPath, matchPath } from '../schedule/paths.ts';

/** The tools of a change. */
export interface ChangeContext {
  /** The result of a GET in the newest form. */
  read(path: string): Promise<unknown>;
}

export interface Change {
  /** Id of its entry in the schedule. */
  readonly id: string;
  request?(call: Call, context: ChangeContext): Call | Promise<Call>;
  /** `call` is the call that `request` received. */
  response?(answer: Answer, call: Call, context: ChangeContext): Answer | Promise<Answer>;
}

/** The call, for which one more old setting or field exists. */
export function admit(call: Call, feature: string): Call {
  return { ...call, admitted: [...call.admitted, feature] };
}

/** A path of the shape `from` as a path of the shape `to`, with the same parameters. Other paths stay. */
export function movedPath(path: string, from: string, to: string): string {
  const match = matchPath(from, path);
  return match === undefined ? path : (fillPath(to, match.params) ?? path);
}

/** Changes the result of the answer, or each item of it. Errors stay unchanged. */
export function eachResult(answer: Answer, change: (item: Fields) => Fields): Answer {
  if (answer.status >= 400 || answer.result === null) return answer;
  const { result } = answer;
  return {
    ...answer,
    result: Array.isArray(result) ? result.map(change) : change(result as Fields),
  };
}

export type Fields = Readonly<Record<string, unknown>>;
