// Defines the flag by which a page cancels a call: a blob URL, which the page revokes. A busy worker reads no messages,
// but it can test whether a blob URL still exists.
//
// The page makes flags in page/leader/flags.ts, and the worker tests them in boot/browser-host.ts.

import { checkFields, checkNumber, checkString, malformed } from './arguments.ts';

export interface CallFlag {
  /** The blob URL. All pending calls with the same signal share it. */
  readonly url: string;
  /** The time of the call, in milliseconds since the epoch. */
  readonly madeMs: number;
}

/** A pending call that can be cancelled. */
export interface FlaggedCall {
  readonly flag: CallFlag;
  /** Ends the watch for the signal, because the call has settled. */
  end(): void;
}

/** Makes the flags of a page. */
export interface CallFlags {
  /** Makes the flag of a call whose signal has not aborted yet. `aborted` is called when it does. */
  begin(signal: AbortSignal, aborted: () => void): FlaggedCall;
}

/** The most characters of a blob URL, which consists of an origin and an id. */
const URL_LENGTH_MAX = 512;

/** Checks a flag, so that a peer cannot make the worker load any other address. @throws INVALID_ARGUMENT */
export function checkFlag(value: unknown): CallFlag {
  const { url, madeMs } = checkFields('flag', value);
  return { url: checkFlagUrl(url), madeMs: checkNumber('madeMs', madeMs) };
}

export function checkFlagUrl(value: unknown): string {
  const url = checkString('flag', value);
  if (url.startsWith('blob:') && url.length <= URL_LENGTH_MAX) return url;
  throw malformed('flag', `a blob URL of at most ${URL_LENGTH_MAX} characters`);
}
