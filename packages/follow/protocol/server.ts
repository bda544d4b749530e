// The server's side of the protocol: its clients, their calls and connections. Pure: events in, effects out.
//
// The caller delivers one event at a time and performs its effects in order. Writes of one event, those of a method's
// turn included, are one transaction, and messages leave after it is durable: the output gate of an object does both.
// `run` is the last effect of its event: `ended` or `paused` follows in the same transaction, before any other event. If
// a transaction fails, the instance ends, and the server is opened again from its storage.
//
// Invariants:
//   a call runs at most once per timeline of the object, and calls of a client run in the order of their numbers
//   a cut and the outcomes of the calls in it are one message
//   an outcome is kept until its client has acknowledged it
//
// Does not know how calls run, how changes are captured, who may follow, nor the time.

import {
  CALLS_IN_FLIGHT_MAX,
  type CallAnswers,
  type CopyMark,
  FOLLOW_PROTOCOLS,
  type FollowedCallMessage,
  type FollowedOutcome,
  type HelloMessage,
  isSamePosition,
  type MessageToFollower,
  type NextPartMessage,
  type NumberedOutcome,
  type Position,
  type RejectReason,
  type Transition,
} from './messages.ts';

/** Stored in the object's database. acked <= last <= started. */
export interface ClientRecord {
  /** The last call whose first turn was committed. */
  readonly started: number;
  /** The last call that was answered. */
  readonly last: number;
  readonly acked: number;
  /** How often the call after `started` was begun, of those times when it may have ended the instance before. */
  readonly attempts: number;
  /** Of the calls after `acked`, up to `last`. */
  readonly outcomes: readonly NumberedOutcome[];
}

export type CallRun =
  | { readonly kind: 'idle' }
  /** The attempt is being made durable, so that the next instance knows of it. */
  | { readonly kind: 'attempting'; readonly call: FollowedCallMessage }
  | { readonly kind: 'running' };

export interface FollowClient {
  readonly record: ClientRecord;
  readonly run: CallRun;
  /** Received behind the call that runs. */
  readonly waiting: readonly FollowedCallMessage[];
}

/** Plain data, to be stored with a connection that outlives the instance (hibernation). */
export interface FollowerConnection {
  readonly client: string;
  /** It has the object as of then, and the outcomes of calls up to `told`; null: it asks for parts of a snapshot. */
  readonly sent: Position | null;
  readonly told: number;
}

export interface FollowServer {
  /** The version of the class. */
  readonly version: number;
  /** Those with a connection or an unfinished call. */
  readonly clients: ReadonlyMap<string, FollowClient>;
  readonly connections: ReadonlyMap<number, FollowerConnection>;
}

/** The storage of an instance that starts. Its connections have outlived an idle instance. */
export interface StoredFollowServer extends Pick<FollowServer, 'version' | 'connections'> {
  readonly head: Position;
  /** Of clients with a connection, or with a call that an earlier instance began and did not end. */
  readonly records: ReadonlyMap<string, ClientRecord>;
}

/** `head` is the position of the object, with the changes of the event. */
export type FollowServerEvent = { readonly head: Position } & (
  | {
      readonly kind: 'hello';
      readonly connection: number;
      readonly message: HelloMessage;
      /** The stored record of the client. */
      readonly record: ClientRecord | null;
      /** Life of the note with the number of the client's position; null: it does not exist, or was deleted. */
      readonly lifeThere: number | null;
      readonly copyLives: CopyLives | null;
      /** The object is small enough for a snapshot. */
      readonly canSnapshot: boolean;
    }
  /** The follower has the parts up to a mark; or the last part was sent just now, and it will have them. */
  | {
      readonly kind: 'next';
      readonly connection: number;
      readonly message: NextPartMessage;
      readonly copyLives: CopyLives | null;
    }
  | { readonly kind: 'call'; readonly connection: number; readonly message: FollowedCallMessage }
  | { readonly kind: 'attemptStored'; readonly client: string }
  | { readonly kind: 'ended'; readonly client: string; readonly outcome: FollowedOutcome }
  /** The first turn of a call has ended, and the call goes on. */
  | { readonly kind: 'paused'; readonly client: string }
  /** The object has changed: by a later turn, an alarm, or another caller. */
  | { readonly kind: 'changed' }
  | { readonly kind: 'closed'; readonly connection: number }
);

/**
 * Lives of the notes with the numbers of a copy's positions; null: the note does not exist. Null instead of both: there is
 * no copy, no part can follow its mark, or the tables are other ones since it began.
 */
export type CopyLives = Readonly<Record<'from' | 'at', number | null>>;

export type FollowServerEffect =
  /** Stores the record. */
  | { readonly kind: 'record'; readonly client: string; readonly record: ClientRecord }
  /** Makes the record durable in a transaction of its own, then delivers `attemptStored`. */
  | { readonly kind: 'storeAttempt'; readonly client: string }
  /** Calls the method; `ended` when it has ended. */
  | { readonly kind: 'run'; readonly client: string; readonly call: FollowedCallMessage }
  | { readonly kind: 'send'; readonly connection: number; readonly message: MessageToFollower }
  /** Sends a cut with the present state of everything noted after `since`: onto that, or onto `parts` of a copy from there. */
  | ({
      readonly kind: 'sendCut';
      readonly connection: number;
      readonly since: Position;
      readonly parts: number | null;
    } & Answers)
  /** Sends the part that follows `parts` others, as it is now. After the last one, delivers `next` itself. */
  | {
      readonly kind: 'sendPart';
      readonly connection: number;
      readonly from: Position;
      readonly at: Position;
      readonly parts: number;
      /** Where it begins; null: at the beginning. */
      readonly after: unknown;
    }
  | { readonly kind: 'close'; readonly connection: number; readonly reason: CloseReason };

type Answers = CallAnswers & { readonly to: Position };

export type CloseReason =
  | RejectReason
  | 'HELLO_FIRST'
  | 'HELLO_TWICE'
  | 'CALL_GAP'
  | 'TOO_MANY_CALLS'
  | 'ACK_AHEAD'
  /** A part was asked for, and no snapshot is being sent. */
  | 'NOT_COPYING'
  /** The client has a newer connection. */
  | 'REPLACED';

type Step = Transition<FollowServer, FollowServerEffect>;
type Of<Kind> = Extract<FollowServerEvent, { kind: Kind }>;

/** Further attempts of a call that may have ended the instance (our choice: a cause outside the call may be over). */
export const ATTEMPTS_MAX = 3;
const NEW_RECORD: ClientRecord = { started: 0, last: 0, acked: 0, attempts: 0, outcomes: [] };

export function openFollowServer(stored: StoredFollowServer): Step {
  const { head, records, connections } = stored;
  const clients = new Map<string, FollowClient>();
  for (const { client } of connections.values()) clients.set(client, newClient(null));
  for (const [client, record] of records) clients.set(client, newClient(record));
  const work = new Work({ ...stored, clients }, head);
  for (const [client, { started, last }] of records) {
    if (started > last) work.answer(client, { kind: 'failed', code: 'CALL_INTERRUPTED' });
  }
  work.tellAll();
  return work.done();
}

export function stepFollowServer(state: FollowServer, event: FollowServerEvent): Step {
  const work = new Work(state, event.head);
  switch (event.kind) {
    case 'hello':
      work.hello(event);
      break;
    case 'next':
      work.next(event);
      break;
    case 'call':
      work.call(event);
      break;
    case 'attemptStored':
      work.attemptStored(event.client);
      break;
    case 'ended':
      work.answer(event.client, event.outcome);
      work.runNext(event.client);
      break;
    case 'paused':
      work.tellAll();
      work.runNext(event.client);
      break;
    case 'changed':
      work.tellAll();
      break;
    case 'closed':
      work.closed(event.connection);
      break;
  }
  return work.done();
}

/** A transition under way: the state so far, and the effects in order. */
class Work {
  readonly #version: number;
  readonly #head: Position;
  readonly #clients: Map<string, FollowClient>;
  readonly #connections: Map<number, FollowerConnection>;
  readonly #effects: FollowServerEffect[] = [];

  constructor({ version, clients, connections }: FollowServer, head: Position) {
    this.#version = version;
    this.#head = head;
    this.#clients = new Map(clients);
    this.#connections = new Map(connections);
  }

  done(): Step {
    // The records of the others are in storage.
    const connected = new Set([...this.#connections.values()].map(({ client }) => client));
    for (const [client, { run, waiting }] of this.#clients) {
      const isBusy = run.kind !== 'idle' || waiting.length > 0;
      if (!isBusy && !connected.has(client)) this.#clients.delete(client);
    }
    const version = this.#version;
    const state = { version, clients: this.#clients, connections: this.#connections };
    return { state, effects: this.#effects };
  }

  hello({ connection, message, record, lifeThere, copyLives, canSnapshot }: Of<'hello'>) {
    const { client, protocol, position, ack } = message;
    if (this.#connections.has(connection)) return this.#close(connection, 'HELLO_TWICE');
    const newest = Math.min(protocol.newest, FOLLOW_PROTOCOLS.newest);
    if (newest < Math.max(protocol.oldest, FOLLOW_PROTOCOLS.oldest)) {
      return this.#reject(connection, 'PROTOCOL');
    }
    const isKnown = position !== null && lifeThere === position.life;
    const copy = continued(message.copy, copyLives);
    if (!isKnown && copy === null && !canSnapshot) {
      return this.#reject(connection, 'OBJECT_TOO_LARGE');
    }
    for (const [older, to] of this.#connections) {
      if (to.client === client) this.#close(older, 'REPLACED');
    }
    if (!this.#clients.has(client)) this.#clients.set(client, newClient(record));
    if (!this.#acknowledge(client, ack)) return this.#close(connection, 'ACK_AHEAD');
    this.#send(connection, { kind: 'welcome', protocol: newest, version: this.#version });
    if (isKnown) {
      this.#connections.set(connection, { client, sent: position, told: 0 });
      this.#tell(connection, true);
    } else {
      this.#connections.set(connection, { client, sent: null, told: 0 });
      this.#copy(connection, copy);
    }
  }

  next({ connection, message, copyLives }: Of<'next'>) {
    const known = this.#connections.get(connection);
    if (known === undefined) return this.#close(connection, 'HELLO_FIRST');
    if (known.sent !== null) return this.#close(connection, 'NOT_COPYING');
    this.#copy(connection, continued(message.copy, copyLives));
  }

  /** Goes on with a copy; null: one begins. */
  #copy(connection: number, copy: CopyMark | null) {
    if (copy?.next === null) {
      const { client } = this.#connections.get(connection)!;
      const { from: since, parts } = copy;
      const answers = this.#answers(connection, client, 0);
      this.#effects.push({ kind: 'sendCut', connection, since, parts, ...answers });
    } else {
      const at = this.#head;
      const { from, parts, next: after } = copy ?? { from: at, parts: 0, next: null };
      this.#effects.push({ kind: 'sendPart', connection, from, at, parts, after });
    }
  }

  call({ connection, message }: Of<'call'>) {
    const client = this.#connections.get(connection)?.client;
    if (client === undefined) return this.#close(connection, 'HELLO_FIRST');
    const { n, ack } = message;
    if (!this.#acknowledge(client, ack)) return this.#close(connection, 'ACK_AHEAD');
    const { record, waiting, run } = this.#clients.get(client)!;
    const begun = run.kind === 'attempting' ? run.call.n : record.started;
    const received = waiting.at(-1)?.n ?? begun;
    // Received before: its outcome was told on this connection, or will be when it ends.
    if (n <= received) return;
    if (n > received + 1) return this.#close(connection, 'CALL_GAP');
    if (n - record.last > CALLS_IN_FLIGHT_MAX) return this.#close(connection, 'TOO_MANY_CALLS');
    this.#change(client, { waiting: [...waiting, message] });
    this.runNext(client);
  }

  #reject(connection: number, reason: RejectReason) {
    this.#send(connection, { kind: 'rejected', reason, protocol: FOLLOW_PROTOCOLS });
    this.#close(connection, reason);
  }

  attemptStored(client: string): void {
    const { run } = this.#clients.get(client)!;
    if (run.kind === 'attempting') this.#run(client, run.call);
  }

  /** Of the call that was begun, or of the one after it if none is unanswered. */
  answer(client: string, outcome: FollowedOutcome): void {
    const { record } = this.#clients.get(client)!;
    const n = record.last + 1;
    const outcomes: readonly NumberedOutcome[] = [...record.outcomes, [n, outcome]];
    this.#change(client, { run: { kind: 'idle' } });
    this.#record(client, { ...record, started: n, last: n, attempts: 0, outcomes });
    this.tellAll();
  }

  /** Begins one call: that of the next client in turn whose calls wait. Its end, or its pause, begins another. */
  runNext(after: string): void {
    const names = [...this.#clients.keys()];
    const turn = names.indexOf(after) + 1;
    for (const client of [...names.slice(turn), ...names.slice(0, turn)]) {
      // If the instance ends now, the call that is attempted is the reason, and no other one.
      if ([...this.#clients.values()].some(({ run }) => run.kind === 'attempting')) return;
      if (this.#begins(client)) return;
    }
  }

  /** Every connection gets the changes and outcomes that it has not got. */
  tellAll(): void {
    for (const connection of this.#connections.keys()) this.#tell(connection, false);
  }

  closed(connection: number): void {
    this.#connections.delete(connection);
  }

  #tell(connection: number, isHello: boolean): void {
    const { client, sent, told } = this.#connections.get(connection)!;
    if (sent === null) return;
    const isChanged = !isSamePosition(this.#head, sent);
    if (!isChanged && !isHello && this.#clients.get(client)!.record.last === told) return;
    const answers = this.#answers(connection, client, told);
    if (isChanged) {
      this.#effects.push({ kind: 'sendCut', connection, since: sent, parts: null, ...answers });
    } else {
      const { last, outcomes } = answers;
      this.#send(connection, { kind: 'ended', last, outcomes });
    }
  }

  /** The outcomes after `told`, with which the connection has everything. */
  #answers(connection: number, client: string, told: number): Answers {
    const { last, outcomes } = this.#clients.get(client)!.record;
    this.#connections.set(connection, { client, sent: this.#head, told: last });
    return { to: this.#head, last, outcomes: outcomes.filter(([n]) => n > told) };
  }

  /** Forgets the outcomes that the client has recorded. False: it has recorded a call that is not answered. */
  #acknowledge(client: string, ack: number): boolean {
    const { record, run, waiting } = this.#clients.get(client)!;
    if (ack > record.last) {
      if (run.kind !== 'idle' || waiting.length > 0) return false;
      // The object was restored to a moment before these answers. Their numbers are used.
      this.#record(client, { started: ack, last: ack, acked: ack, attempts: 0, outcomes: [] });
    } else if (ack > record.acked) {
      const outcomes = record.outcomes.filter(([n]) => n > ack);
      this.#record(client, { ...record, acked: ack, outcomes });
    }
    return true;
  }

  /** Whether the next call of the client is about to run. */
  #begins(client: string): boolean {
    const { record, run, waiting } = this.#clients.get(client)!;
    const [call, ...rest] = waiting;
    if (run.kind !== 'idle' || call === undefined) return false;
    this.#change(client, { waiting: rest });
    if (!call.again) {
      this.#run(client, call);
    } else if (record.attempts < ATTEMPTS_MAX) {
      this.#change(client, { run: { kind: 'attempting', call } });
      this.#record(client, { ...record, attempts: record.attempts + 1 });
      this.#effects.push({ kind: 'storeAttempt', client });
    } else {
      this.answer(client, { kind: 'failed', code: 'CALL_ABANDONED' });
      return this.#begins(client);
    }
    return true;
  }

  #run(client: string, call: FollowedCallMessage): void {
    this.#change(client, { run: { kind: 'running' } });
    this.#record(client, { ...this.#clients.get(client)!.record, started: call.n });
    this.#effects.push({ kind: 'run', client, call });
  }

  #record(client: string, record: ClientRecord): void {
    this.#change(client, { record });
    this.#effects.push({ kind: 'record', client, record });
  }

  #change(client: string, change: Partial<FollowClient>): void {
    this.#clients.set(client, { ...this.#clients.get(client)!, ...change });
  }

  #send(connection: number, message: MessageToFollower): void {
    this.#effects.push({ kind: 'send', connection, message });
  }

  #close(connection: number, reason: CloseReason): void {
    this.#effects.push({ kind: 'close', connection, reason });
    this.closed(connection);
  }
}

/** The copy, if the object still has the history of its parts. */
function continued(copy: CopyMark | null, lives: CopyLives | null): CopyMark | null {
  if (copy === null || lives === null) return null;
  return copy.from.life === lives.from && copy.at.life === lives.at ? copy : null;
}

function newClient(record: ClientRecord | null): FollowClient {
  return { record: record ?? NEW_RECORD, run: { kind: 'idle' }, waiting: [] };
}
