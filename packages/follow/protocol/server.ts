// The server's side of the protocol, as a pure function: `stepFollowServer` takes the state of clients and connections
// and an event, and returns the next state and the effects to perform.
//
// The caller delivers one event at a time and performs its effects in order. All writes of an event, including those of
// a method's turn, are one transaction; messages leave once it is durable. The output gate of an object ensures both.
// `run` is the last effect of its event; the caller delivers `ended` or `paused` in the same transaction, before any
// other event. If a transaction fails, the instance ends, and the server is opened again from its storage.
//
// Invariants:
//   a call runs at most once, unless the object is restored; calls of a client run in the order of their numbers
//   a cut and the outcomes of the calls that caused it are one message
//   an outcome is stored until its client has acknowledged it
//
// This file does not know how calls run, how changes are captured, who may follow, nor the time.

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

/** The stored progress of one client's calls. Invariant: acked <= last <= started. */
export interface ClientRecord {
  /** The last call whose first turn was committed. */
  readonly started: number;
  /** The last call that was answered. */
  readonly last: number;
  /** The last call whose outcome the client has recorded. */
  readonly acked: number;
  /** How often the call after `started` was tried again, after an instance may have ended because of it. */
  readonly attempts: number;
  /** The outcomes of the calls after `acked`, up to `last`. */
  readonly outcomes: readonly NumberedOutcome[];
}

export type CallRun =
  | { readonly kind: 'idle' }
  /** The raised count of attempts is being stored, so that the next instance knows it; then the call runs. */
  | { readonly kind: 'attempting'; readonly call: FollowedCallMessage }
  | { readonly kind: 'running' };

export interface FollowClient {
  readonly record: ClientRecord;
  readonly run: CallRun;
  /** The calls that were received and have not lastBegun. */
  readonly waiting: readonly FollowedCallMessage[];
}

/** The state of one connection. It is plain data: hibernation stores it in the attachment of the socket. */
export interface FollowerConnection {
  readonly client: string;
  /** The follower was sent the object up to this position; null while it asks for the parts of a snapshot. */
  readonly sent: Position | null;
  /** The follower was sent the outcomes of its calls up to this number. */
  readonly told: number;
}

export interface FollowServer {
  /** The version of the object's class. */
  readonly version: number;
  /** The clients that have a connection or an unfinished call. */
  readonly clients: ReadonlyMap<string, FollowClient>;
  readonly connections: ReadonlyMap<number, FollowerConnection>;
}

/** The state from which an instance starts. Its connections are those that outlived an idle instance. */
export interface StoredFollowServer extends Pick<FollowServer, 'version' | 'connections'> {
  readonly head: Position;
  /** The records of the clients that have a connection, or a call that an earlier instance began and did not end. */
  readonly records: ReadonlyMap<string, ClientRecord>;
}

/** Every event tells `head`, the position of the object including the changes of the event. */
export type FollowServerEvent = { readonly head: Position } & (
  | {
      readonly kind: 'hello';
      readonly connection: number;
      readonly message: HelloMessage;
      /** The client's stored record; null if the client is new. */
      readonly record: ClientRecord | null;
      /** The life of the note that the client's position names; null if there is no such note, or no longer. */
      readonly lifeAtPosition: number | null;
      readonly copyLives: CopyLives | null;
      /** True if the object is small enough for a snapshot. */
      readonly canSnapshot: boolean;
    }
  /** The follower asks for the part after its mark; or the caller has sent the last part, after which a cut follows. */
  | {
      readonly kind: 'next';
      readonly connection: number;
      readonly message: NextPartMessage;
      readonly copyLives: CopyLives | null;
    }
  | { readonly kind: 'call'; readonly connection: number; readonly message: FollowedCallMessage }
  | { readonly kind: 'attemptStored'; readonly client: string }
  | { readonly kind: 'ended'; readonly client: string; readonly outcome: FollowedOutcome }
  /** The first turn of a call has ended, but the call has not. */
  | { readonly kind: 'paused'; readonly client: string }
  /** A later turn of a call, an alarm, or another caller has changed the object. */
  | { readonly kind: 'changed' }
  | { readonly kind: 'closed'; readonly connection: number }
);

/**
 * The lives of the notes that the positions `from` and `at` of an unfinished snapshot name; null for a note that does not
 * exist. The whole is null if there is no snapshot to continue, or the tables have changed since it began.
 */
export type CopyLives = Readonly<Record<'from' | 'at', number | null>>;

export type FollowServerEffect =
  /** Stores the client's record. */
  | { readonly kind: 'record'; readonly client: string; readonly record: ClientRecord }
  /** Makes the client's record durable in a transaction of its own, then delivers `attemptStored`. */
  | { readonly kind: 'storeAttempt'; readonly client: string }
  /** Calls the method, and delivers `ended` or `paused`. */
  | { readonly kind: 'run'; readonly client: string; readonly call: FollowedCallMessage }
  | { readonly kind: 'send'; readonly connection: number; readonly message: MessageToFollower }
  /**
   * Sends a cut: the present content of everything that was written after `since`. It applies to a base at `since`, or,
   * if `parts` is a number, to that many parts of a snapshot that began at `since`.
   */
  | ({
      readonly kind: 'sendCut';
      readonly connection: number;
      readonly since: Position;
      readonly parts: number | null;
    } & Answers)
  /** Reads and sends the part of a snapshot after the first `parts` ones. After the last part, delivers `next` itself. */
  | {
      readonly kind: 'sendPart';
      readonly connection: number;
      readonly from: Position;
      readonly at: Position;
      readonly parts: number;
      /** The place where the part begins; null for the first part. */
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
  /** The follower asks for a part while no snapshot is being sent. */
  | 'NOT_COPYING'
  /** The client has a newer connection. */
  | 'REPLACED';

type Step = Transition<FollowServer, FollowServerEffect>;
type EventOf<Kind> = Extract<FollowServerEvent, { kind: Kind }>;

/** How often a call that may have ended the instance is tried again (our choice: the cause may lie outside of the call). */
export const ATTEMPTS_MAX = 3;
const NEW_RECORD: ClientRecord = { started: 0, last: 0, acked: 0, attempts: 0, outcomes: [] };

export function openFollowServer(stored: StoredFollowServer): Step {
  const { head, records, connections } = stored;
  const clients = new Map<string, FollowClient>();
  for (const { client } of connections.values()) clients.set(client, newClient(null));
  for (const [client, record] of records) clients.set(client, newClient(record));
  const builder = new StepBuilder({ ...stored, clients }, head);
  for (const [client, { started, last }] of records) {
    if (started > last) builder.answer(client, { kind: 'failed', code: 'CALL_INTERRUPTED' });
  }
  builder.sendUpdates();
  return builder.done();
}

export function stepFollowServer(state: FollowServer, event: FollowServerEvent): Step {
  const builder = new StepBuilder(state, event.head);
  switch (event.kind) {
    case 'hello':
      builder.hello(event);
      break;
    case 'next':
      builder.next(event);
      break;
    case 'call':
      builder.call(event);
      break;
    case 'attemptStored':
      builder.attemptStored(event.client);
      break;
    case 'ended':
      builder.answer(event.client, event.outcome);
      builder.runNext(event.client);
      break;
    case 'paused':
      builder.sendUpdates();
      builder.runNext(event.client);
      break;
    case 'changed':
      builder.sendUpdates();
      break;
    case 'closed':
      builder.closed(event.connection);
      break;
  }
  return builder.done();
}

/** Builds the result of one event: the state so far, and the effects in order. */
class StepBuilder {
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
    // Idle clients without a connection are forgotten here; their records stay in storage.
    const connected = new Set([...this.#connections.values()].map(({ client }) => client));
    for (const [client, { run, waiting }] of this.#clients) {
      const isBusy = run.kind !== 'idle' || waiting.length > 0;
      if (!isBusy && !connected.has(client)) this.#clients.delete(client);
    }
    const version = this.#version;
    const state = { version, clients: this.#clients, connections: this.#connections };
    return { state, effects: this.#effects };
  }

  hello({ connection, message, record, lifeAtPosition, copyLives, canSnapshot }: EventOf<'hello'>) {
    const { client, protocol, position, ack } = message;
    if (this.#connections.has(connection)) return this.#close(connection, 'HELLO_TWICE');
    const newest = Math.min(protocol.newest, FOLLOW_PROTOCOLS.newest);
    if (newest < Math.max(protocol.oldest, FOLLOW_PROTOCOLS.oldest)) {
      return this.#reject(connection, 'PROTOCOL');
    }
    const isKnown = position !== null && lifeAtPosition === position.life;
    const copy = resumableCopy(message.copy, copyLives);
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
      this.#sendUpdate(connection, true);
    } else {
      this.#connections.set(connection, { client, sent: null, told: 0 });
      this.#continueSnapshot(connection, copy);
    }
  }

  next({ connection, message, copyLives }: EventOf<'next'>) {
    const known = this.#connections.get(connection);
    if (known === undefined) return this.#close(connection, 'HELLO_FIRST');
    if (known.sent !== null) return this.#close(connection, 'NOT_COPYING');
    this.#continueSnapshot(connection, resumableCopy(message.copy, copyLives));
  }

  /** Sends the next part of a snapshot, or the cut after its last part. If `copy` is null, a new snapshot begins. */
  #continueSnapshot(connection: number, copy: CopyMark | null) {
    if (copy?.next === null) {
      const { client } = this.#connections.get(connection)!;
      const { from: since, parts } = copy;
      const answers = this.#takeAnswers(connection, client, 0);
      this.#effects.push({ kind: 'sendCut', connection, since, parts, ...answers });
    } else {
      const at = this.#head;
      const { from, parts, next: after } = copy ?? { from: at, parts: 0, next: null };
      this.#effects.push({ kind: 'sendPart', connection, from, at, parts, after });
    }
  }

  call({ connection, message }: EventOf<'call'>) {
    const client = this.#connections.get(connection)?.client;
    if (client === undefined) return this.#close(connection, 'HELLO_FIRST');
    const { n, ack } = message;
    if (!this.#acknowledge(client, ack)) return this.#close(connection, 'ACK_AHEAD');
    const { record, waiting, run } = this.#clients.get(client)!;
    const lastBegun = run.kind === 'attempting' ? run.call.n : record.started;
    const received = waiting.at(-1)?.n ?? lastBegun;
    // The call was received before: its outcome was sent on this connection, or will be when the call ends.
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

  /** Records and sends the outcome of the client's first unanswered call. */
  answer(client: string, outcome: FollowedOutcome): void {
    const { record } = this.#clients.get(client)!;
    const n = record.last + 1;
    const outcomes: readonly NumberedOutcome[] = [...record.outcomes, [n, outcome]];
    this.#change(client, { run: { kind: 'idle' } });
    this.#record(client, { ...record, started: n, last: n, attempts: 0, outcomes });
    this.sendUpdates();
  }

  /** Begins one waiting call, of the next client in turn. When that call ends or pauses, the next one begins. */
  runNext(after: string): void {
    const names = [...this.#clients.keys()];
    const turn = names.indexOf(after) + 1;
    for (const client of [...names.slice(turn), ...names.slice(0, turn)]) {
      // An attempted call may end the instance. No other call runs meanwhile, so the culprit is known.
      if ([...this.#clients.values()].some(({ run }) => run.kind === 'attempting')) return;
      if (this.#beginNextCall(client)) return;
    }
  }

  /** Sends to every connection the changes and outcomes that it lacks. */
  sendUpdates(): void {
    for (const connection of this.#connections.keys()) this.#sendUpdate(connection, false);
  }

  closed(connection: number): void {
    this.#connections.delete(connection);
  }

  #sendUpdate(connection: number, isHello: boolean): void {
    const { client, sent, told } = this.#connections.get(connection)!;
    if (sent === null) return;
    const isChanged = !isSamePosition(this.#head, sent);
    if (!isChanged && !isHello && this.#clients.get(client)!.record.last === told) return;
    const answers = this.#takeAnswers(connection, client, told);
    if (isChanged) {
      this.#effects.push({ kind: 'sendCut', connection, since: sent, parts: null, ...answers });
    } else {
      const { last, outcomes } = answers;
      this.#send(connection, { kind: 'ended', last, outcomes });
    }
  }

  /** Returns the outcomes after `told`, and marks the connection as up to date. */
  #takeAnswers(connection: number, client: string, told: number): Answers {
    const { last, outcomes } = this.#clients.get(client)!.record;
    this.#connections.set(connection, { client, sent: this.#head, told: last });
    return { to: this.#head, last, outcomes: outcomes.filter(([n]) => n > told) };
  }

  /** Deletes the outcomes that the client has recorded. Returns false if it acknowledges a call that is not answered. */
  #acknowledge(client: string, ack: number): boolean {
    const { record, run, waiting } = this.#clients.get(client)!;
    if (ack > record.last) {
      if (run.kind !== 'idle' || waiting.length > 0) return false;
      // The object was restored to a moment before these answers. Their numbers must not be used again.
      this.#record(client, { started: ack, last: ack, acked: ack, attempts: 0, outcomes: [] });
    } else if (ack > record.acked) {
      const outcomes = record.outcomes.filter(([n]) => n > ack);
      this.#record(client, { ...record, acked: ack, outcomes });
    }
    return true;
  }

  /** Begins the client's next call; returns false if none waits, or another one runs. */
  #beginNextCall(client: string): boolean {
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
      return this.#beginNextCall(client);
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

/** Returns the snapshot's mark if the object's history still has both of its positions; otherwise null. */
function resumableCopy(copy: CopyMark | null, lives: CopyLives | null): CopyMark | null {
  if (copy === null || lives === null) return null;
  return copy.from.life === lives.from && copy.at.life === lives.at ? copy : null;
}

function newClient(record: ClientRecord | null): FollowClient {
  return { record: record ?? NEW_RECORD, run: { kind: 'idle' }, waiting: [] };
}
