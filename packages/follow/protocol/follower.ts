// The follower's side of the protocol: the states of a replica, and its transitions. Pure: events in, effects out.
//
// A replica has three parts. The base is a copy of the server's object at one position; only cuts write it. The queue
// has the client's calls that the server has not answered, and the refusals that the app has not dismissed. The
// forecast is the base with the calls of the queue run over it.
//
// The caller performs the effects of an event in order, before the next event. If an effect fails, or the process ends
// between two effects, the replica is opened again from its files. Base and queue are two logs: a crash keeps, of each,
// its flushed commits and possibly later ones, in order. A part of a snapshot is durable when it is staged.
//
// Invariants:
//   a call is durable before it is acknowledged or sent
//   the base is durable before calls that it contains leave the queue
//   a call leaves the queue in the commit that records its refusal
//   a number is given to one call only, also after a crash
//
// Does not know how calls run, the contents of a cut, when to connect again, nor the time.

import {
  CALLS_IN_FLIGHT_MAX,
  type CallAnswers,
  type CopyMark,
  type CutMessage,
  FOLLOW_PROTOCOLS,
  type FollowedOutcome,
  type HelloMessage,
  isSamePosition,
  type MessageToFollower,
  type MessageToServer,
  type PartMessage,
  type Position,
  type RejectReason,
  type Transition,
} from './messages.ts';

/** A call in the queue. `isForecast` false: it reached outside of the object, so only the server runs it. */
export interface QueuedCall {
  readonly n: number;
  readonly method: string;
  readonly args: unknown;
  readonly isForecast: boolean;
}

/** OUTCOME_LOST: the server has no outcome of a call that it has answered, which no correct server causes. */
export type SettledOutcome =
  | FollowedOutcome
  | { readonly kind: 'failed'; readonly code: 'OUTCOME_LOST' };

/** Kept until the app dismisses it. `n` tells a repeated report from a new one. */
export interface RefusedCall {
  readonly call: QueuedCall;
  readonly outcome: Exclude<SettledOutcome, { kind: 'value' }>;
}

/** Stored in the base, in the commit of the cut that brought it. */
export interface BaseMark {
  readonly position: Position | null;
  /** The base contains the writes of this client's calls up to it. */
  readonly last: number;
}

/** Stored in the log of the queue. */
export interface StoredQueue {
  /** The last number that was given to a call. */
  readonly issued: number;
  readonly calls: readonly QueuedCall[];
  readonly refusals: readonly RefusedCall[];
}

export type FollowerLink =
  | { readonly kind: 'offline' }
  /** Hello was sent. */
  | { readonly kind: 'greeting'; readonly connection: number }
  /** The next cut or `ended` completes the base. `progress` of a snapshot, about; null: no part of one has come on this connection. */
  | {
      readonly kind: 'catchingUp';
      readonly connection: number;
      readonly progress: number | null;
    }
  /** `sentTo`: the last call that was sent on this connection. */
  | { readonly kind: 'current'; readonly connection: number; readonly sentTo: number }
  /** Only another version of this code, or another replica, can go on. */
  | { readonly kind: 'stopped'; readonly reason: StopReason };

/**
 * PROTOCOL, OBJECT_TOO_LARGE: the server has rejected the follower. QUEUE_BEHIND: the server has answered calls that this queue
 * never had, so the replica's files were taken back to an earlier state, and its next numbers are used already.
 * CLIENT_TAKEN: another identity has used this replica.
 */
export type StopReason = RejectReason | 'QUEUE_BEHIND' | 'CLIENT_TAKEN';

export interface Follower {
  readonly client: string;
  /** The version of the class. */
  readonly version: number;
  readonly base: BaseMark;
  readonly queue: StoredQueue;
  /** The parts of a snapshot that are staged. */
  readonly copy: CopyMark | null;
  readonly link: FollowerLink;
  /** Calls up to it may have been sent: by this process, or by an earlier one. */
  readonly attempted: number;
  /** False: the server has another version of the class. */
  readonly isForecasting: boolean;
}

export type FollowerEvent =
  /** A call has run on the forecast and written, or reached outside. `retried`: the refused call that it makes again. */
  | {
      readonly kind: 'called';
      readonly call: Omit<QueuedCall, 'n'>;
      readonly retried: number | null;
    }
  | { readonly kind: 'connected'; readonly connection: number }
  | { readonly kind: 'received'; readonly connection: number; readonly message: MessageToFollower }
  /** `isTaken`: the server has closed it, because the client belongs to another identity. */
  | { readonly kind: 'disconnected'; readonly connection: number; readonly isTaken: boolean }
  /** The app has seen a refusal. */
  | { readonly kind: 'dismissed'; readonly n: number };

export type FollowerEffect =
  /** One commit in the queue: the call, and its number as `issued`; the refusal that it takes the place of is dismissed. */
  | { readonly kind: 'enqueue'; readonly call: QueuedCall; readonly retried: number | null }
  /** One commit in the queue: calls up to `last` leave it, and refusals join it. */
  | { readonly kind: 'dequeue'; readonly last: number; readonly refusals: readonly RefusedCall[] }
  /** One commit in the queue. */
  | { readonly kind: 'dismiss'; readonly n: number }
  | { readonly kind: 'flushQueue' }
  /**
   * One commit in the base: the changes, and the mark. With `parts`, the base becomes that of so many staged parts and
   * the changes: of these come all rows and keys that they name. The parts may then be removed.
   */
  | {
      readonly kind: 'applyCut';
      readonly parts: number | null;
      readonly changes: unknown;
      readonly mark: BaseMark;
    }
  | { readonly kind: 'flushBase' }
  /** Keeps a part for the cut that completes the snapshot, and the mark with it, durably. The first part replaces any others. */
  | { readonly kind: 'stagePart'; readonly copy: CopyMark; readonly changes: unknown }
  /** Makes the forecast again: the base, and these calls over it. */
  | { readonly kind: 'forecast'; readonly calls: readonly QueuedCall[] }
  /** The call is durable: the app gets the result of the forecast. */
  | { readonly kind: 'acknowledge'; readonly n: number }
  /** The app gets the server's answer. */
  | { readonly kind: 'settle'; readonly n: number; readonly outcome: SettledOutcome }
  | { readonly kind: 'reportRefusal'; readonly refusal: RefusedCall }
  | { readonly kind: 'send'; readonly connection: number; readonly message: MessageToServer }
  | { readonly kind: 'disconnect'; readonly connection: number; readonly reason: string };

type Step = Transition<Follower, FollowerEffect>;
type CalledEvent = Extract<FollowerEvent, { kind: 'called' }>;
type Connected = Exclude<FollowerLink, { kind: 'offline' | 'stopped' }>;

/** A replica as its files have it. */
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
    attempted: queue.issued,
    isForecasting: true,
  };
  const reports = queue.refusals.map((refusal) => ({ kind: 'reportRefusal', refusal }) as const);
  return { state: opened, effects: [forecastOf(opened), ...reports] };
}

export function stepFollower(state: Follower, event: FollowerEvent): Step {
  switch (event.kind) {
    case 'called':
      return called(state, event);
    case 'dismissed':
      return dismissed(state, event.n);
    case 'connected':
      return connected(state, event.connection);
  }
  const { link } = state;
  // An event of a connection that this side has given up says nothing about the present one.
  if (!('connection' in link && link.connection === event.connection))
    return { state, effects: [] };
  if (event.kind === 'received') return received(state, link, event.message);
  const gone = event.isTaken
    ? ({ kind: 'stopped', reason: 'CLIENT_TAKEN' } as const)
    : ({ kind: 'offline' } as const);
  return { state: { ...state, link: gone }, effects: [] };
}

function called(state: Follower, { call: given, retried }: CalledEvent): Step {
  const n = state.queue.issued + 1;
  const call = { n, ...given };
  const refusals = withoutRefusal(state.queue, retried);
  const queue = { issued: n, calls: [...state.queue.calls, call], refusals };
  return thenSend({ ...state, queue }, [
    { kind: 'enqueue', call, retried },
    { kind: 'flushQueue' },
    { kind: 'acknowledge', n },
  ]);
}

function withoutRefusal({ refusals }: StoredQueue, n: number | null): readonly RefusedCall[] {
  return refusals.filter(({ call }) => call.n !== n);
}

function dismissed(state: Follower, n: number): Step {
  const refusals = withoutRefusal(state.queue, n);
  const dismissed = { ...state, queue: { ...state.queue, refusals } };
  return { state: dismissed, effects: [{ kind: 'dismiss', n }, { kind: 'flushQueue' }] };
}

function connected(state: Follower, connection: number): Step {
  const { client, queue, base, copy } = state;
  const hello = { kind: 'hello', protocol: FOLLOW_PROTOCOLS, client, ack: ackOf(queue) } as const;
  const message: HelloMessage = { ...hello, position: base.position, copy };
  const greeting: Follower = { ...state, link: { kind: 'greeting', connection } };
  return { state: greeting, effects: [{ kind: 'send', connection, message }] };
}

function received(state: Follower, link: Connected, message: MessageToFollower): Step {
  if (link.kind === 'greeting') {
    if (message.kind === 'welcome') return welcomed(state, link.connection, message.version);
    if (message.kind === 'rejected') return stop(state, link, message.reason);
  } else if (message.kind === 'cut') {
    return cut(state, link, message);
  } else if (message.kind === 'ended') {
    const isWhole = state.base.position !== null && !isCopying(link);
    if (!isWhole) return hangUp(state, link, 'a snapshot was not completed');
    const refused = refusedAnswers(state, link, message.last, state.base.last);
    return refused ?? answered(state, link, message, []);
  } else if (message.kind === 'part' && link.kind === 'catchingUp') {
    return part(state, link, message);
  }
  return hangUp(state, link, `"${message.kind}" is not expected while ${link.kind}`);
}

function welcomed(state: Follower, connection: number, version: number): Step {
  const isForecasting = version === state.version;
  const link = { kind: 'catchingUp', connection, progress: null } as const;
  const next = { ...state, isForecasting, link };
  return { state: next, effects: isForecasting === state.isForecasting ? [] : [forecastOf(next)] };
}

function part(state: Follower, link: Connected, { copy, progress, changes }: PartMessage): Step {
  const before = state.copy;
  const isFirst = copy.parts === 1;
  const isNext = before?.parts === copy.parts - 1 && isSamePosition(before.from, copy.from);
  if (!isFirst && !isNext) return hangUp(state, link, 'a part is missing');
  const { connection } = link;
  const further = { ...state, copy, link: { kind: 'catchingUp', connection, progress } } as const;
  const staged = { kind: 'stagePart', copy, changes } as const;
  // The cut follows the last part without being asked for.
  if (copy.next === null) return { state: further, effects: [staged] };
  const message = { kind: 'next', copy } as const;
  // It is on its way while this one is staged. After a crash before that, this one is asked for again.
  return { state: further, effects: [{ kind: 'send', connection, message }, staged] };
}

function isCopying(link: Connected): boolean {
  return link.kind === 'catchingUp' && link.progress !== null;
}

function cut(state: Follower, link: Connected, message: CutMessage): Step {
  const { onto, to: position, last, changes } = message;
  const isSnapshot = onto.kind === 'parts';
  const { base, copy } = state;
  const isNext = isSnapshot
    ? copy?.next === null && onto.count === copy.parts && isSamePosition(onto.from, copy.from)
    : !isCopying(link) && isSamePosition(onto.position, base.position);
  if (!isNext) return hangUp(state, link, 'a cut does not follow the base');
  // A snapshot may come from a server that was restored to an earlier moment. Calls after it are pending again.
  const before = isSnapshot ? 0 : base.last;
  // A cut whose answers are refused is not applied, so the position stays.
  const refused = refusedAnswers(state, link, last, before);
  if (refused !== null) return refused;
  const mark = { position, last };
  const parts = isSnapshot ? onto.count : null;
  const apply = { kind: 'applyCut', parts, changes, mark } as const;
  const applied = { ...state, base: mark, copy: isSnapshot ? null : copy };
  return answered(applied, link, message, [apply]);
}

/** The end of the connection, if no correct server answers so; else null. */
function refusedAnswers(
  state: Follower,
  link: Connected,
  last: number,
  before: number,
): Step | null {
  if (last < before) return hangUp(state, link, 'the last answered call has a smaller number');
  return last > state.queue.issued ? stop(state, link, 'QUEUE_BEHIND') : null;
}

/** Takes the answered calls out of the queue, after the base has their writes; then sends further ones. */
function answered(
  state: Follower,
  link: Connected,
  { last, outcomes }: CallAnswers,
  applied: readonly FollowerEffect[],
): Step {
  const { queue } = state;
  const known = new Map<number, SettledOutcome>(outcomes);
  const lost = { kind: 'failed', code: 'OUTCOME_LOST' } as const;
  const settled = queue.calls
    .filter(({ n }) => n <= last)
    .map((call) => ({ call, outcome: known.get(call.n) ?? lost }));
  const refusals = settled.filter((one): one is RefusedCall => one.outcome.kind !== 'value');
  const calls = queue.calls.filter(({ n }) => n > last);
  const sentTo = link.kind === 'current' ? link.sentTo : 0;
  const next: Follower = {
    ...state,
    queue: { ...queue, calls, refusals: [...queue.refusals, ...refusals] },
    link: { kind: 'current', connection: link.connection, sentTo },
  };
  const effects = [...applied];
  if (settled.length > 0) {
    // Earlier cuts may hold writes of these calls, and need not be durable yet.
    effects.push(
      { kind: 'flushBase' },
      { kind: 'dequeue', last, refusals },
      { kind: 'flushQueue' },
    );
  }
  if (effects.length > 0) effects.push(forecastOf(next));
  for (const { call, outcome } of settled) effects.push({ kind: 'settle', n: call.n, outcome });
  for (const refusal of refusals) effects.push({ kind: 'reportRefusal', refusal });
  return thenSend(next, effects);
}

/** The effects; then sends calls of the queue, in order, as many as may be unanswered at once. */
function thenSend(state: Follower, effects: readonly FollowerEffect[]): Step {
  const { link, queue, attempted } = state;
  if (link.kind !== 'current') return { state, effects };
  const { connection } = link;
  const due = queue.calls.slice(0, CALLS_IN_FLIGHT_MAX).filter(({ n }) => n > link.sentTo);
  const sent = due.map(({ n, method, args }) => {
    const again = n <= attempted;
    const message = { kind: 'call', n, method, args, again, ack: ackOf(queue) } as const;
    return { kind: 'send', connection, message } as const;
  });
  const sentTo = due.at(-1)?.n ?? link.sentTo;
  return {
    state: { ...state, link: { ...link, sentTo }, attempted: Math.max(attempted, sentTo) },
    effects: [...effects, ...sent],
  };
}

/** Everything up to it was answered and recorded, durably: the queue is flushed before each `send`. */
function ackOf({ calls, issued }: StoredQueue): number {
  return calls[0] === undefined ? issued : calls[0].n - 1;
}

/** After a crash the queue may have calls that the base contains. */
function forecastOf({ queue, base, isForecasting }: Omit<Follower, 'link'>): FollowerEffect {
  const isPending = ({ n, isForecast }: QueuedCall) => isForecasting && isForecast && n > base.last;
  return { kind: 'forecast', calls: queue.calls.filter(isPending) };
}

/** The peer broke the protocol, or a message was lost or repeated: a new connection begins from what is stored. */
function hangUp(state: Follower, { connection }: Connected, reason: string): Step {
  const effects = [{ kind: 'disconnect', connection, reason }] as const;
  return { state: { ...state, link: { kind: 'offline' } }, effects };
}

function stop(state: Follower, link: Connected, reason: StopReason): Step {
  const { effects } = hangUp(state, link, reason);
  return { state: { ...state, link: { kind: 'stopped', reason } }, effects };
}
