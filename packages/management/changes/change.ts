// A dated change of the interface: it converts calls from the older form to the newer one, and answers back.
//
// The change's entry in the schedule lists the operations that it converts, and its date. Calls pass through the
// earliest change first, answers through the latest first.

import type { Answer, Call } from '../call/call.ts';
import { fillPath, matchPath } from '../schedule/paths.ts';

/** The functions that a change may use besides the call and its answer. */
export interface ChangeContext {
  /** Performs a GET in the newest form of the interface, and returns its result. */
  read(path: string): Promise<unknown>;
}

export interface Change {
  /** The id of the change's entry in the schedule. */
  readonly id: string;
  request?(call: Call, context: ChangeContext): Call | Promise<Call>;
  /** Converts the answer; `call` is the call that `request` received. */
  response?(answer: Answer, call: Call, context: ChangeContext): Answer | Promise<Answer>;
}

/** Returns the call, marked so that one more retired setting or field exists for it. */
export function admitFeature(call: Call, feature: string): Call {
  return { ...call, admitted: [...call.admitted, feature] };
}

/**
 * Converts a path of the shape `from` to the shape `to`, with the same parameters. Any other path is returned
 * unchanged.
 */
export function convertPath(path: string, from: string, to: string): string {
  const match = matchPath(from, path);
  return match === undefined ? path : (fillPath(to, match.params) ?? path);
}

/** Applies `change` to the result of the answer, or to each item if it is a list. Errors stay unchanged. */
export function mapResult(answer: Answer, change: (item: Fields) => Fields): Answer {
  if (answer.status >= 400 || answer.result === null) return answer;
  const { result } = answer;
  return {
    ...answer,
    result: Array.isArray(result) ? result.map(change) : change(result as Fields),
  };
}

export type Fields = Readonly<Record<string, unknown>>;
