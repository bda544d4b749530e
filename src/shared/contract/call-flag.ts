// The flag of a call that can be cancelled: a blob URL of the page that makes the call. The page revokes it to
// cancel the call. A busy thread reads no messages, but it can look whether a blob URL still exists.
//
// Does not know who makes flags (storage/flags.ts) and who looks (boot/browser-host.ts).

import { checkFields, checkNumber, checkString, malformed } from './arguments.ts';

export interface CallFlag {
  /** The same for all calls of one signal that are under way together. */
  readonly url: string;
  /** When the call was made, in milliseconds since the epoch. */
  readonly madeMs: number;
}

/** A call under way that can be cancelled. */
export interface FlaggedCall {
  readonly flag: CallFlag;
  /** The call is over: nothing is told any more. */
  end(): void;
}

/** The flags of a page. */
export interface CallFlags {
  /** A call begins whose signal is not aborted; `aborted` is called when it is. */
  begin(signal: AbortSignal, aborted: () => void): FlaggedCall;
}

/** Longer than any blob URL, which is an origin and an id. */
const URL_LENGTH_MAX = 512;

/** A peer cannot make the worker load any other address. @throws INVALID_ARGUMENT */
export function checkFlag(value: unknown): CallFlag {
  const { url, madeMs } = checkFields('flag', value);
  return { url: checkFlagUrl(url), madeMs: checkNumber('madeMs', madeMs) };
}

export function checkFlagUrl(value: unknown): string {
  const url = checkString('flag', value);
  if (url.startsWith('blob:') && url.length <= URL_LENGTH_MAX) return url;
  throw malformed('flag', `a blob URL of at most ${URL_LENGTH_MAX} characters`);
}
