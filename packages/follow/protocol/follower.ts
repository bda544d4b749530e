// The follower's side of the protocol, as a pure function: `stepFollower` takes a state and an event, and returns the
// next state and the effects to perform.
//
// A replica has three parts. The base is a copy of the server's object at one position; only *cuts*, the server's
// updates, write it. The queue has the client's calls that the server has not answered, and the refused calls that the
// app has not dismissed. The forecast is the base with the calls of the queue run over it.
//
// The caller performs the effects of an event in order, before the next event. If an effect fails, or the process ends
// between two effects, the replica is opened again from its files. Base and queue have a log each; a crash keeps the
// flushed commits of each log, and possibly some later ones, in order. A part of a snapshot is durable when it is staged.
//
// Invariants:
//   a call is durable before it is acknowledged or sent
//   the base is durable before calls whose writes it contains leave the queue
//   a refused call leaves the queue in the commit that records its refusal
//   no two calls get the same number, even after a crash
//
// This file does not know how calls run, the contents of a cut, when to connect again, nor the time.

import {
  CALL_BYTES_IN_FLIGHT_MAX,
  CALLS_IN_FLIGHT_MAX,
  type CallAnswers,
  type CopyMark,
  type CutMessage,
  type EndedMessage,
  FOLLOW_PROTOCOLS,
  type FollowedOutcome,
  type HelloMessage,
  isSamePosition,
  type MarkedNumber,
  type MessageToFollower,
  type MessageToServer,
  type PartMessage,
  type Position,
  type RejectReason,
  type Transition,
  type WelcomeMessage,
} from './messages.ts';

/**
 * A call in the queue. If the call reaches outside of the object, `isForecast` is false, and only the server runs it.
 */
export interface QueuedCall {
  readonly n: number;
  /** A random number, which differs from the mark of a call with the same number in a copied queue. */
  readonly mark: number;
  readonly method: string;
  readonly args: unknown;
  /** The size of the arguments in a message. */
  readonly bytes: number;
  readonly isForecast: boolean;
}

/** The final outcome of a call. OUTCOME_LOST: a faulty server has answered the call without sending its outcome. */
export type SettledOutcome =
  | FollowedOutcome
  | { readonly kind: 'failed'; readonly code: 'OUTCOME_LOST' };

/** A call that the server refused. It is stored until the app dismisses it; the number of the call identifies it. */
export interface RefusedCall {
  readonly call: QueuedCall;
  readonly outcome: Exclude<SettledOutcome, { kind: 'value' }>;
}

/** The position of the base. Each cut stores it in the base, in the commit that applies the cut. */
export interface BaseMark {
  readonly position: Position | null;
  /** The number of the client's last call whose writes are in the base. */
  readonly last: number;
}

/** The queue as its log stores it. */
export interface StoredQueue {
  /** The number of the newest call. */
  readonly issued: number;
  /** The mark of the last call that has left the queue; null if none has, or a version of this code without marks removed it. */
  readonly leftMark: number | null;
  readonly calls: readonly QueuedCall[];
  readonly refusals: readonly RefusedCall[];
}

export type FollowerLink =
  | { readonly kind: 'offline' }
  /** The follower has sent hello, and waits for the answer. */
  | { readonly kind: 'greeting'; readonly connection: number }
  /**
   * The next cut or `ended` brings the base up to date. `progress` is the fraction of a snapshot that has come, null if
   * this connection has brought no part of one.
   */
  | {
      readonly kind: 'catchingUp';
      readonly connection: number;
      readonly progress: number | null;
    }
  /** The base is up to date. `sentTo` is the last call that was sent on this connection. */
  | { readonly kind: 'current'; readonly connection: number; readonly sentTo: number }
  /** The follower never connects again; another version of this code, or another replica, must take over. */
  | { readonly kind: 'stopped'; readonly reason: StopReason };

/**
 * PROTOCOL, OBJECT_TOO_LARGE, CLIENT_REMOVED: the server has rejected the follower. QUEUE_BEHIND: the server has
 * received calls that this queue never had, so the replica's files are an older state or a copy, and the queue would
 * reuse numbers of calls. CLIENT_TAKEN: the client's name belongs to another identity.
 */
export type StopReason = RejectReason | 'QUEUE_BEHIND' | 'CLIENT_TAKEN';

export interface Follower {
  readonly client: string;
  /** The version of the class that runs the forecasts here. */
  readonly version: number;
  readonly base: BaseMark;
  readonly queue: StoredQueue;
  /** The progress of a snapshot whose parts are stored, but not yet applied to the base. */
  readonly copy: CopyMark | null;
  readonly link: FollowerLink;
  /** This process or an earlier one may have sent the calls up to this number. */
  readonly maybeSentTo: number;
  /** False if the server has another version of the class. */
  readonly isForecasting: boolean;
}

export type FollowerEvent =
  /** A call must go to the server: it wrote to the forecast, or reached outside. `retried` is the refused call that it repeats. */
  | {
      readonly kind: 'called';
      readonly call: Omit<QueuedCall, 'n'>;
      readonly retried: number | null;
    }
  | { readonly kind: 'connected'; readonly connection: number }
  | { readonly kind: 'received'; readonly connection: number; readonly message: MessageToFollower }
  /** The connection has ended. `isClientTaken` is true if the server closed it with CLIENT_TAKEN. */
  | { readonly kind: 'disconnected'; readonly connection: number; readonly isClientTaken: boolean }
  /** The app dismisses the refusal of call `n`. */
  | { readonly kind: 'dismissed'; readonly n: number };

export type FollowerEffect =
  /** Commits to the queue: adds the call, sets `issued` to its number, and removes the refusal of the call that it repeats. */
  | { readonly kind: 'enqueue'; readonly call: QueuedCall; readonly retried: number | null }
  /** Commits to the queue: removes the calls up to `last`, sets `leftMark` to its mark, and adds the refusals. */
  | {
      readonly kind: 'dequeue';
      readonly last: number;
      readonly mark: number;
      readonly refusals: readonly RefusedCall[];
    }
  /** Commits to the queue: removes the refusal of call `n`. */
  | { readonly kind: 'dismiss'; readonly n: number }
  | { readonly kind: 'flushQueue' }
  /**
   * Commits the changes and the mark to the base. If `parts` is a number, the content of that many staged parts replaces
   * the base first, and rows and keys in the changes override those of the parts. The parts may then be removed.
   */
  | {
      readonly kind: 'applyCut';
      readonly parts: number | null;
      readonly changes: unknown;
      readonly mark: BaseMark;
    }
  | { readonly kind: 'flushBase' }
  /** Stores a part and its mark durably, until a cut completes the snapshot. The first part replaces any stored ones. */
  | { readonly kind: 'stagePart'; readonly copy: CopyMark; readonly changes: unknown }
  /** Replaces the forecast by the base with these calls run over it. */
  | { readonly kind: 'forecast'; readonly calls: readonly QueuedCall[] }
  /** Gives the app the result of the forecast, because the call is durable. */
  | { readonly kind: 'acknowledge'; readonly n: number }
  /** Gives the app the server's answer to call `n`. */
  | { readonly kind: 'settle'; readonly n: number; readonly outcome: SettledOutcome }
  | { readonly kind: 'reportRefusal'; readonly refusal: RefusedCall }
  | { readonly kind: 'send'; readonly connection: number; readonly message: MessageToServer }
  | { readonly kind: 'disconnect'; readonly connection: number; readonly reason: string };

type Step = Transition<Follower, FollowerEffect>;
type CalledEvent = Extract<FollowerEvent, { kind: 'called' }>;
type Connected = Exclude<FollowerLink, { kind: 'offline' | 'stopped' }>;

/** Returns the state of a replica that is opened from its files. */
export function openFollower(
  stored: Pick<Follower, 'base' | 'queue' | 'copy'>,
  code: Pick<Follower, 'client' | 'version'>,
): Step {
  const { queue } = stored;
  const offline = { kind: 'offline' } as const;
  const opened = {
    ...stored,
    ...code,
    link: offline,
    maybeSentTo: queue.issued,
    isForecasting: true,
  };
  const reports = queue.refusals.map((refusal) => ({ kind: 'reportRefusal', refusal }) as const);
  return { state: opened, effects: [forecastEffect(opened), ...reports] };
}

export function stepFollower(state: Follower, event: FollowerEvent): Step {
  switch (event.kind) {
    case 'called':
      return enqueueCall(state, event);
    case 'dismissed':
      return dismissRefusal(state, event.n);
    case 'connected':
      return sendHello(state, event.connection);
  }
  const { link } = state;
  // Events of a connection that this side has given up are ignored.
  if (!('connection' in link && link.connection === event.connection))
    return { state, effects: [] };
  if (event.kind === 'received') return receive(state, link, event.message);
  const nextLink = event.isClientTaken
    ? ({ kind: 'stopped', reason: 'CLIENT_TAKEN' } as const)
    : ({ kind: 'offline' } as const);
  return { state: { ...state, link: nextLink }, effects: [] };
}

function enqueueCall(state: Follower, { call: given, retried }: CalledEvent): Step {
  const n = state.queue.issued + 1;
  const call = { n, ...given };
  const refusals = withoutRefusal(state.queue, retried);
  const queue = { ...state.queue, issued: n, calls: [...state.queue.calls, call], refusals };
  return sendWaitingCalls({ ...state, queue }, [
    { kind: 'enqueue', call, retried },
    { kind: 'flushQueue' },
    { kind: 'acknowledge', n },
  ]);
}

function withoutRefusal({ refusals }: StoredQueue, n: number | null): readonly RefusedCall[] {
  return refusals.filter(({ call }) => call.n !== n);
}

function dismissRefusal(state: Follower, n: number): Step {
  const refusals = withoutRefusal(state.queue, n);
  const without = { ...state, queue: { ...state.queue, refusals } };
  return { state: without, effects: [{ kind: 'dismiss', n }, { kind: 'flushQueue' }] };
}

function sendHello(state: Follower, connection: number): Step {
  const { client, queue, base, copy } = state;
  const hello = {
    kind: 'hello',
    protocol: FOLLOW_PROTOCOLS,
    client,
    ack: lastRecordedCall(queue),
  } as const;
  const message: HelloMessage = { ...hello, position: base.position, copy };
  const greeting: Follower = { ...state, link: { kind: 'greeting', connection } };
  return { state: greeting, effects: [{ kind: 'send', connection, message }] };
}

function receive(state: Follower, link: Connected, message: MessageToFollower): Step {
  if (link.kind === 'greeting') {
    if (message.kind === 'welcome') return acceptWelcome(state, link, message);
    if (message.kind === 'rejected') return stop(state, link, message.reason);
  } else if (message.kind === 'cut') {
    return withAck(receiveCut(state, link, message), message.receipt);
  } else if (message.kind === 'ended') {
    return withAck(receiveEnded(state, link, message), message.receipt);
  } else if (message.kind === 'part' && link.kind === 'catchingUp') {
    return receivePart(state, link, message);
  }
  return hangUp(state, link, `"${message.kind}" is not expected while ${link.kind}`);
}

/**
 * Appends a confirmation of the message to the effects, if the message asks for a receipt. The message's content is
 * durable by then.
 */
function withAck({ state, effects }: Step, receipt: number | null): Step {
  const { link, queue } = state;
  if (receipt === null || !('connection' in link)) return { state, effects };
  const { connection } = link;
  const message = { kind: 'ack', ack: lastRecordedCall(queue), receipt } as const;
  return { state, effects: [...effects, { kind: 'send', connection, message }] };
}

function acceptWelcome(
  state: Follower,
  link: Connected,
  { version, received }: WelcomeMessage,
): Step {
  if (!isOwnCall(state.queue, received)) return stop(state, link, 'QUEUE_BEHIND');
  const isForecasting = version === state.version;
  const { connection } = link;
  const next: Follower = {
    ...state,
    isForecasting,
    link: { kind: 'catchingUp', connection, progress: null },
  };
  return {
    state: next,
    effects: isForecasting === state.isForecasting ? [] : [forecastEffect(next)],
  };
}

/** False if the queue cannot have made this call. A call that the queue no longer knows may have been made by it. */
function isOwnCall(queue: StoredQueue, { n, mark }: MarkedNumber): boolean {
  const recorded = lastRecordedCall(queue);
  if (n > queue.issued) return false;
  if (n < recorded || mark === null) return true;
  const own = n === recorded ? queue.leftMark : queue.calls[n - recorded - 1]!.mark;
  return own === null || own === mark;
}

function receivePart(
  state: Follower,
  link: Connected,
  { copy, progress, changes, receipt }: PartMessage,
): Step {
  const before = state.copy;
  const isFirst = copy.parts === 1;
  const isNext = before?.parts === copy.parts - 1 && isSamePosition(before.from, copy.from);
  if (!isFirst && !isNext) return hangUp(state, link, 'a part is missing');
  const { connection } = link;
  const withPart = { ...state, copy, link: { kind: 'catchingUp', connection, progress } } as const;
  const staged = { kind: 'stagePart', copy, changes } as const;
  // After the last part, the server sends the update without a request.
  if (copy.next === null) return withAck({ state: withPart, effects: [staged] }, receipt);
  const message = { kind: 'next', copy, receipt } as const;
  // Requesting the next part before staging this part saves a round trip. After a crash in between, the hello requests
  // this part again.
  return { state: withPart, effects: [{ kind: 'send', connection, message }, staged] };
}

function receiveEnded(state: Follower, link: Connected, message: EndedMessage): Step {
  const isWhole = state.base.position !== null && !isCopying(link);
  if (!isWhole) return hangUp(state, link, 'a snapshot was not completed');
  const refused = refuseWrongAnswers(state, link, message.last, state.base.last);
  return refused ?? settleAnswered(state, link, message, []);
}

function isCopying(link: Connected): boolean {
  return link.kind === 'catchingUp' && link.progress !== null;
}

function receiveCut(state: Follower, link: Connected, message: CutMessage): Step {
  const { onto, to: position, last, changes } = message;
  const isSnapshot = onto.kind === 'parts';
  const { base, copy } = state;
  const isNext = isSnapshot
    ? copy?.next === null && onto.count === copy.parts && isSamePosition(onto.from, copy.from)
    : !isCopying(link) && isSamePosition(onto.position, base.position);
  if (!isNext) return hangUp(state, link, 'a cut does not follow the base');
  // A snapshot may come from a server that was restored to an earlier moment, which makes later calls pending again.
  const before = isSnapshot ? 0 : base.last;
  // If the answers are refused, the cut is not applied either, and the base keeps its position.
  const refused = refuseWrongAnswers(state, link, last, before);
  if (refused !== null) return refused;
  const mark = { position, last };
  const parts = isSnapshot ? onto.count : null;
  const apply = { kind: 'applyCut', parts, changes, mark } as const;
  const applied = { ...state, base: mark, copy: isSnapshot ? null : copy };
  return settleAnswered(applied, link, message, [apply]);
}

/** Ends the connection if no correct server could send `last`; otherwise returns null. */
function refuseWrongAnswers(
  state: Follower,
  link: Connected,
  last: number,
  before: number,
): Step | null {
  if (last < before) return hangUp(state, link, 'the last answered call has a smaller number');
  return last > state.queue.issued ? stop(state, link, 'QUEUE_BEHIND') : null;
}

/** Removes the answered calls from the queue once the base has their writes; then sends calls that wait. */
function settleAnswered(
  state: Follower,
  link: Connected,
  { last, outcomes }: CallAnswers,
  applied: readonly FollowerEffect[],
): Step {
  const { queue } = state;
  const outcomeByNumber = new Map<number, SettledOutcome>(outcomes);
  const outcomeLost = { kind: 'failed', code: 'OUTCOME_LOST' } as const;
  const settled = queue.calls
    .filter(({ n }) => n <= last)
    .map((call) => ({ call, outcome: outcomeByNumber.get(call.n) ?? outcomeLost }));
  const refusals = settled.filter((one): one is RefusedCall => one.outcome.kind !== 'value');
  const calls = queue.calls.filter(({ n }) => n > last);
  const sentTo = link.kind === 'current' ? link.sentTo : 0;
  const newest = settled.at(-1)?.call;
  const leftMark = newest?.mark ?? queue.leftMark;
  const next: Follower = {
    ...state,
    queue: { ...queue, leftMark, calls, refusals: [...queue.refusals, ...refusals] },
    link: { kind: 'current', connection: link.connection, sentTo },
  };
  const effects = [...applied];
  if (newest !== undefined) {
    // Without a cut in this message, the writes of these calls came with earlier cuts, which may not be flushed yet.
    effects.push(
      { kind: 'flushBase' },
      { kind: 'dequeue', last, mark: newest.mark, refusals },
      { kind: 'flushQueue' },
    );
  }
  if (effects.length > 0) effects.push(forecastEffect(next));
  for (const { call, outcome } of settled) effects.push({ kind: 'settle', n: call.n, outcome });
  for (const refusal of refusals) effects.push({ kind: 'reportRefusal', refusal });
  return sendWaitingCalls(next, effects);
}

/** Appends to the effects: sends the next calls of the queue, as many as may be unanswered at once. */
function sendWaitingCalls(state: Follower, effects: readonly FollowerEffect[]): Step {
  const { link, queue, maybeSentTo } = state;
  if (link.kind !== 'current') return { state, effects };
  const { connection } = link;
  const ack = lastRecordedCall(queue);
  const due = callsInFlight(queue).filter(({ n }) => n > link.sentTo);
  const sent = due.map(({ n, mark, method, args }) => {
    const again = n <= maybeSentTo;
    const message = { kind: 'call', n, mark, method, args, again, ack } as const;
    return { kind: 'send', connection, message } as const;
  });
  const sentTo = due.at(-1)?.n ?? link.sentTo;
  return {
    state: { ...state, link: { ...link, sentTo }, maybeSentTo: Math.max(maybeSentTo, sentTo) },
    effects: [...effects, ...sent],
  };
}

/** Returns the first calls of the queue, as many as may be unanswered at once. */
function callsInFlight({ calls }: StoredQueue): readonly QueuedCall[] {
  let bytes = 0;
  const tooMany = calls.slice(0, CALLS_IN_FLIGHT_MAX).findIndex((call) => {
    const isFull = bytes >= CALL_BYTES_IN_FLIGHT_MAX;
    bytes += call.bytes;
    return isFull;
  });
  return calls.slice(0, tooMany < 0 ? CALLS_IN_FLIGHT_MAX : tooMany);
}

/** Returns the last call whose outcome is recorded. It is durable, because the queue is flushed before each `send`. */
function lastRecordedCall({ calls, issued }: StoredQueue): number {
  return calls[0] === undefined ? issued : calls[0].n - 1;
}

/**
 * Returns the effect that forecasts the calls whose writes the base lacks: after a crash, the queue may also have calls
 * whose writes the base contains.
 */
function forecastEffect({ queue, base, isForecasting }: Omit<Follower, 'link'>): FollowerEffect {
  const isPending = ({ n, isForecast }: QueuedCall) => isForecasting && isForecast && n > base.last;
  return { kind: 'forecast', calls: queue.calls.filter(isPending) };
}

/**
 * Closes a connection whose messages break the protocol or are incomplete. The next connection starts from the stored
 * state.
 */
function hangUp(state: Follower, { connection }: Connected, reason: string): Step {
  const effects = [{ kind: 'disconnect', connection, reason }] as const;
  return { state: { ...state, link: { kind: 'offline' } }, effects };
}

function stop(state: Follower, link: Connected, reason: StopReason): Step {
  const { effects } = hangUp(state, link, reason);
  return { state: { ...state, link: { kind: 'stopped', reason } }, effects };
}
