// The functions that page and worker call on each other, described once: for each, the checks of its
// parameters, made by the side that answers, and the check of the answer, made by the side that asks.
// Both ends of a connection derive their functions from these tables.
//
// Invariant: what reaches a function has passed its checks, and a caller gets an answer of the type
// that it expects, whatever the peer sends.

import { wrap } from 'comlink';
import { checkFlagUrl } from '../contract/call-flag.ts';
import { checkArray, checkNumberOf } from '../contract/check.ts';
import { eachOf } from '../contract/each-of.ts';
import { type Answerer, answerCalls } from './answer-calls.ts';
import { CallingEndpoint } from './calling-endpoint.ts';
import type { ChannelEndpoint } from './channel-endpoint.ts';
import { checkCalls, checkTarget } from './check-calls.ts';
import {
  checkAddress,
  checkManageRequest,
  checkObjectRequest,
  checkReference,
  checkReferenceRequest,
  checkReferences,
} from './check-objects.ts';
import { checkOutcome, checkOutcomes } from './check-outcomes.ts';
import { checkLiveStart, type LivePeer } from './live-protocol.ts';
import {
  moveWith,
  type OwnBytes,
  ownBytesOfCalls,
  ownBytesOfOutcome,
  ownBytesOfOutcomes,
  ownBytesOfRequest,
} from './moved-bytes.ts';
import type { ObjectsPeer, ReferencePeer } from './object-protocol.ts';
import { CANCELS_MAX, type StoragePeer } from './protocol.ts';

interface RemoteFunction<Parameters extends readonly unknown[], Result> {
  /** Each returns its parameter, or throws what the caller receives as the outcome. */
  readonly parameters: { readonly [I in keyof Parameters]: (value: unknown) => Parameters[I] };
  /** The result, whatever was answered. */
  readonly answer: (answer: unknown, ...parameters: Parameters) => Result;
  /** Bytes of the parameters that move with the call. @default none */
  readonly movesIn?: (...parameters: Parameters) => readonly OwnBytes[];
  /** Bytes of the result that move with the answer. @default none */
  readonly movesOut?: (result: Result, ...parameters: Parameters) => readonly OwnBytes[];
}

type Description<Peer> = {
  readonly [Name in keyof Peer]: Peer[Name] extends (
    ...parameters: infer Parameters
  ) => Promise<infer Result>
    ? RemoteFunction<Parameters, Result>
    : never;
};

/** The functions of a peer where they are: an answer that is there already needs no promise. */
export type Served<Peer> = {
  readonly [Name in keyof Peer]: Peer[Name] extends (
    ...parameters: infer Parameters
  ) => Promise<infer Result>
    ? (...parameters: Parameters) => Result | Promise<Result>
    : never;
};

/** What a worker exposes to a page. */
export type WorkerPeer = Required<StoragePeer> & ObjectsPeer & LivePeer & ReferencePeer;

/** What a page exposes to a worker. */
export const PAGE_FUNCTIONS: Description<ReferencePeer> = {
  ask: {
    parameters: [checkReference, checkReferenceRequest],
    answer: checkOutcome,
    movesIn: (_reference, request) => ownBytesOfRequest(request),
    movesOut: ownBytesOfOutcome,
  },
  release: { parameters: [checkReferences], answer: nothing },
};

export const WORKER_FUNCTIONS: Description<WorkerPeer> = {
  open: { parameters: [checkTarget], answer: checkOutcome },
  execute: {
    parameters: [checkSession, checkCalls],
    answer: (answer, _session, calls) => checkOutcomes(answer, calls.length),
    movesIn: (_session, calls) => ownBytesOfCalls(calls),
    movesOut: (outcomes, _session, calls) => ownBytesOfOutcomes(outcomes, calls),
  },
  cancel: { parameters: [checkCancels], answer: nothing },
  close: { parameters: [checkSession], answer: nothing },
  classes: { parameters: [], answer: checkOutcome },
  call: {
    parameters: [checkAddress, checkObjectRequest],
    answer: checkOutcome,
    movesIn: (_address, request) => ownBytesOfRequest(request),
    movesOut: ownBytesOfOutcome,
  },
  manage: { parameters: [checkManageRequest], answer: checkOutcome },
  openLive: { parameters: [checkLiveStart], answer: checkOutcome },
  nextLive: { parameters: [checkLiveNumber], answer: checkOutcome },
  closeLive: { parameters: [checkLiveNumber], answer: nothing },
  ...PAGE_FUNCTIONS,
};

type AnyDescription = Readonly<Record<string, RemoteFunction<readonly unknown[], unknown>>>;
type AnyPeer = Readonly<Record<string, (...parameters: unknown[]) => Promise<unknown>>>;

/** Answers the peer's calls of these functions. */
export function serveFunctions<Peer extends object>(
  description: Description<Peer>,
  functions: Served<Peer>,
  endpoint: ChannelEndpoint,
): void {
  const peer = functions as Readonly<Record<string, (...parameters: unknown[]) => unknown>>;
  const answers = Object.entries(description as AnyDescription).map(
    ([name, { parameters, movesOut }]): [string, Answerer] => [
      name,
      (...values) => {
        const checked = eachOf(parameters, (check, i) => check(values[i]));
        const answer = peer[name]!(...checked);
        return movesOut === undefined
          ? answer
          : whenAnswered(answer, (result) => moveWith(result, movesOut(result, ...checked)));
      },
    ],
  );
  answerCalls(Object.fromEntries(answers), endpoint);
}

/**
 * The peer's functions. `make` sends a call, and settles with what is made of its answer.
 *
 * comlink releases a peer whose proxies are all collected; the result holds them.
 */
export function remoteFunctions<Peer extends object>(
  description: Description<Peer>,
  endpoint: ChannelEndpoint,
  make: <T, R>(send: () => Promise<T>, read: (answer: T) => R) => Promise<R>,
): Peer {
  const remote = wrap(new CallingEndpoint(endpoint)) as unknown as AnyPeer;
  const functions = Object.entries(description as AnyDescription).map(([name, row]) => {
    const { answer, movesIn } = row;
    const call = remote[name]!;
    return [
      name,
      (...parameters: unknown[]) => {
        if (movesIn !== undefined) moveWith(parameters.at(-1), movesIn(...parameters));
        return make(
          () => call(...parameters),
          (answered) => answer(answered, ...parameters),
        );
      },
    ];
  });
  return Object.fromEntries(functions) as Peer;
}

/** The answer, of which `seen` was told. */
function whenAnswered(answer: unknown, seen: (result: unknown) => void): unknown {
  if (answer instanceof Promise) {
    return answer.then((result) => {
      seen(result);
      return result;
    });
  }
  seen(answer);
  return answer;
}

function checkSession(value: unknown): number {
  return checkNumberOf('session', value);
}

function checkLiveNumber(value: unknown): number {
  return checkNumberOf('live read', value);
}

function checkCancels(value: unknown): readonly string[] {
  return checkArray('flags', value, CANCELS_MAX).map(checkFlagUrl);
}

function nothing(): undefined {
  return undefined;
}
