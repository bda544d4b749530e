// A dated change of the interface: how calls made in the form before it are brought up to the form
// after it, and how answers come back down.
//
// Its entry in the schedule says where it applies and until which date. Changes apply one after the
// other, the earliest first on the way up, the latest first on the way down.

import type { Answer, Call } from '../call/call.ts';
import { fillPath, matchPath } from '../schedule/paths.ts';

/** What a change may ask while it works. */
export interface ChangeContext {
  /** The result of a GET in the newest form. */
  read(path: string): Promise<unknown>;
}

export interface Change {
  /** Id of its entry in the schedule. */
  readonly id: string;
  request?(call: Call, context: ChangeContext): Call | Promise<Call>;
  /** `call` is the one that `request` was given. */
  response?(answer: Answer, call: Call, context: ChangeContext): Answer | Promise<Answer>;
}

/** The call with one more old setting or field that exists for it. */
export function admit(call: Call, feature: string): Call {
  return { ...call, admitted: [...call.admitted, feature] };
}

/** A path of the shape `from` as a path of the shape `to`, with the same parameters. Other paths stay. */
export function movedPath(path: string, from: string, to: string): string {
  const match = matchPath(from, path);
  return match === undefined ? path : (fillPath(to, match.params) ?? path);
}

/** The answer with its result, or each item of it, changed; failures stay as they are. */
export function eachResult(answer: Answer, change: (item: Fields) => Fields): Answer {
  if (answer.status >= 400 || answer.result === null) return answer;
  const { result } = answer;
  return {
    ...answer,
    result: Array.isArray(result) ? result.map(change) : change(result as Fields),
  };
}

export type Fields = Readonly<Record<string, unknown>>;
