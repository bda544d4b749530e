// The server in the model: the protocol's state (server.ts), and an object's storage, whose history is a list of notes.
//
// An event is one transaction: its records and the writes of its method are committed together, then its messages leave.
//
// Invariant: only a committed transaction changes `storage`.

import type { FollowerCloseReason } from '../connection.ts';
import {
  type CopyMark,
  commonProtocol,
  type FollowedCallMessage,
  type FollowedOutcome,
  type MessageToFollower,
  type MessageToServer,
  type NumberedOutcome,
  type Position,
  type Transition,
} from '../messages.ts';
import { openFollowServer, stepFollowServer } from '../server.ts';
import type {
  ClientAnswers,
  CopyLives,
  CountedMessage,
  FollowServerEffect,
  FollowServerEvent,
} from '../server-events.ts';
import type { ClientRecord, FollowerConnection, FollowServer } from '../server-state.ts';
import { needsReceipt } from '../unread.ts';
import type { Defects } from './defects.ts';
import { Broken, type Row, tagOf } from './device.ts';
import {
  CALL_BYTES,
  CONTENT_BYTES,
  hostileIndex,
  isClientOfAnother,
  isHostileClient,
} from './hostile-names.ts';
import type { CallKind } from './scenario.ts';

/** The stored data of a client: its record, and the outcomes of the calls that the client has not acknowledged. */
export interface StoredClient {
  readonly record: ClientRecord;
  readonly outcomes: readonly NumberedOutcome[];
}

export interface Storage {
  /** A note is `tag@life`: the call, and the instance that wrote it. The first turn of a call in two turns writes `tag-`. */
  readonly notes: readonly string[];
  readonly clients: ReadonlyMap<string, StoredClient>;
}

export interface Cloud {
  readonly core: FollowServer;
  readonly storage: Storage;
  readonly life: number;
  /** For each client whose call is between its two turns: the call's tag, after a `+` if the second turn writes. */
  readonly betweenTurns: ReadonlyMap<string, string>;
}

/** `starts` begins another instance, with the present storage or, after a restore, with an earlier commit. */
export type CloudEvent =
  | { readonly kind: 'received'; readonly connection: number; readonly message: MessageToServer }
  | { readonly kind: 'closed'; readonly connection: number }
  /** A message that the protocol does not have. */
  | { readonly kind: 'malformed'; readonly connection: number }
  | { readonly kind: 'attemptStored'; readonly client: string }
  /** The second turn of a slow call ends. */
  | { readonly kind: 'slowEnds'; readonly client: string }
  | { readonly kind: 'starts'; readonly storage: Storage }
  /** An idle instance leaves memory; its connections stay. */
  | { readonly kind: 'hibernates' };

/**
 * A message that a side sends. If `message` is null, the side closes the connection; the server gives a reason for
 * closing.
 */
export interface Departure<Message> {
  readonly connection: number;
  readonly message: Message | null;
  readonly reason?: FollowerCloseReason;
}

export interface Committed {
  readonly cloud: Cloud;
  readonly departures: readonly Departure<MessageToFollower>[];
}

type DistributedOmit<Union, Key extends PropertyKey> = Union extends unknown
  ? Omit<Union, Key>
  : never;

const VERSION = 1;
/** A snapshot has two parts: the notes with an even index, then the others. */
const PART_COUNT = 2;
/** As in served-object.ts, the sent messages are counted at the end of an event, or after this many bytes. */
const COUNTED_AT_ONCE_BYTES = 2 ** 20;

export function startCloud(
  storage: Storage,
  life: number,
  connections: ReadonlyMap<number, FollowerConnection>,
  defects: Defects,
): Committed {
  const connected = new Set([...connections.values()].map(({ client }) => client));
  const records = [...storage.clients]
    .map(([client, { record }]) => [client, record] as const)
    .filter(([client, { started, last }]) => started > last || connected.has(client));
  const head = headOf(storage);
  const stored = { version: VERSION, head, connections, records: new Map(records) };
  const started = defects.serverStart?.(stored) ?? stored;
  const core = {
    version: VERSION,
    clients: new Map(),
    connections,
    unreadBytes: 0,
    waitingBytes: 0,
  };
  const cloud: Cloud = { core, storage, life, betweenTurns: new Map() };
  return new Transaction(cloud, defects).perform(() => openFollowServer(started))!;
}

/** Returns the server after an event; null if the event ended the instance, and its transaction is lost. */
export function deliver(cloud: Cloud, event: CloudEvent, defects: Defects): Committed | null {
  const { core, storage, life } = cloud;
  const head = headOf(storage);
  switch (event.kind) {
    case 'starts':
      return startCloud(event.storage, life + 1, new Map(), defects);
    case 'hibernates':
      return startCloud(storage, life + 1, core.connections, defects);
    case 'slowEnds':
      return endSecondTurn(cloud, event.client, defects);
    case 'malformed':
      return closeConnection(cloud, event.connection, 'MALFORMED', defects);
    case 'received': {
      const { connection, message } = event;
      const isTaken =
        message.kind === 'hello' &&
        commonProtocol(message.protocol) !== null &&
        isClientOfAnother(connection, message.client) &&
        !defects.ignoresIdentity;
      if (isTaken) return closeConnection(cloud, connection, 'CLIENT_TAKEN', defects);
      return deliverToCore(cloud, eventOf(storage, connection, message), defects);
    }
    default:
      return deliverToCore(cloud, { ...event, head }, defects);
  }
}

/** Makes the event of a received message, with the facts of the storage that server.ts needs. */
function eventOf(
  storage: Storage,
  connection: number,
  message: MessageToServer,
): FollowServerEvent {
  const head = headOf(storage);
  if (message.kind === 'call') {
    const bytes = hostileIndex(connection) === null ? 0 : CALL_BYTES;
    return { kind: 'call', connection, message, bytes, head };
  }
  if (message.kind === 'ack') return { kind: 'ack', connection, message, head };
  const copyLives = copyLivesOf(storage, message.copy);
  if (message.kind === 'next') return { kind: 'next', connection, message, copyLives, head };
  const { client, position } = message;
  const lifeAtPosition = position === null ? null : lifeAt(storage.notes, position.id);
  const record = storage.clients.get(client)?.record ?? null;
  const facts = { record, lifeAtPosition, copyLives, canSnapshot: true, head };
  return { kind: 'hello', connection, message, ...facts };
}

/** Closes a connection for a reason that its socket's layer finds, and tells the protocol so. */
function closeConnection(
  cloud: Cloud,
  connection: number,
  reason: FollowerCloseReason,
  defects: Defects,
): Committed {
  const head = headOf(cloud.storage);
  const closed = deliverToCore(cloud, { kind: 'closed', connection, head }, defects)!;
  return { ...closed, departures: [{ connection, message: null, reason }, ...closed.departures] };
}

function deliverToCore(cloud: Cloud, event: FollowServerEvent, defects: Defects): Committed | null {
  const core = defects.serverState?.(cloud.core, event) ?? cloud.core;
  const given = defects.serverEvent?.(event, core) ?? event;
  return new Transaction({ ...cloud, core }, defects).perform(({ core }) =>
    stepFollowServer(core, given),
  );
}

/**
 * Performs one event: collects the changes of its transaction, and the messages that leave when the transaction is
 * committed.
 */
class Transaction {
  readonly #defects: Defects;
  readonly #departures: Departure<MessageToFollower>[] = [];
  /** The messages that were sent and that the protocol has not counted. */
  readonly #uncounted: CountedMessage[] = [];
  #cloud: Cloud;
  #effects: FollowServerEffect[] = [];

  constructor(cloud: Cloud, defects: Defects) {
    this.#cloud = cloud;
    this.#defects = defects;
  }

  /** Takes the first step with all of its effects. Returns null if the instance ends. @throws Broken */
  perform(first: (cloud: Cloud) => Transition<FollowServer, FollowServerEffect>): Committed | null {
    this.#step(first);
    for (;;) {
      const effect = this.#effects.shift();
      if (effect !== undefined) {
        if (!this.#perform(effect)) return null;
      } else if (this.#uncounted.length > 0) {
        this.#countSent();
      } else {
        return { cloud: this.#cloud, departures: this.#departures };
      }
    }
  }

  #step(step: (cloud: Cloud) => Transition<FollowServer, FollowServerEffect>): void {
    let next: Transition<FollowServer, FollowServerEffect>;
    try {
      next = step(this.#cloud);
    } catch (error) {
      throw new Broken(`an event ends the server: ${String(error)}`);
    }
    const effects = this.#defects.serverEffects?.(next.effects, next.state) ?? next.effects;
    this.#cloud = { ...this.#cloud, core: next.state };
    this.#effects = [...this.#effects, ...effects];
  }

  #deliver(event: DistributedOmit<FollowServerEvent, 'head'>): void {
    const head = headOf(this.#cloud.storage);
    this.#step(({ core }) => stepFollowServer(core, { ...event, head }));
  }

  /** Returns false if the effect ends the instance. */
  #perform(effect: FollowServerEffect): boolean {
    switch (effect.kind) {
      case 'record':
        this.#cloud = { ...this.#cloud, storage: withRecord(this.#cloud.storage, effect) };
        return true;
      case 'storeAttempt':
      case 'updateLater': // Only a server of many more connections does this.
        return true;
      case 'run':
        return this.#run(effect);
      case 'sendPart':
        this.#sendPart(effect);
        return true;
      case 'sendCut':
      case 'sendEnded':
        this.#sendContent(effect.connection, (receipt) =>
          contentOf(this.#cloud.storage, effect, receipt),
        );
        return true;
      case 'send':
        this.#departures.push(effect);
        return true;
      case 'close': {
        const { connection, reason } = effect;
        this.#departures.push({ connection, message: null, reason });
        return true;
      }
    }
  }

  #run({ client, call }: Extract<FollowServerEffect, { kind: 'run' }>): boolean {
    const kind = call.method as CallKind;
    if (kind === 'fatal') return false;
    const tag = tagOf(call);
    this.#cloud = withWritesOf(this.#cloud, call, kind);
    if (kind === 'slow' || kind === 'lingering') {
      const rest = kind === 'slow' ? `+${tag}` : tag;
      const betweenTurns = new Map(this.#cloud.betweenTurns).set(client, rest);
      this.#cloud = { ...this.#cloud, betweenTurns };
      this.#deliver({ kind: 'paused', client });
    } else {
      const outcome = outcomeOf(kind, tag);
      this.#deliver({ kind: 'ended', client, outcome, bytes: outcomeBytesOf(client) });
    }
    return true;
  }

  #sendPart({ connection, from, at, parts }: Extract<FollowServerEffect, { kind: 'sendPart' }>) {
    const next = parts + 1 < PART_COUNT ? parts + 1 : null;
    const copy = { from, at, parts: parts + 1, next };
    const changes = rowsOf(this.#cloud.storage).filter(([i]) => i % PART_COUNT === parts);
    const part = { kind: 'part', copy, progress: 1, changes } as const;
    this.#sendContent(connection, (receipt) => ({ ...part, receipt }));
    if (next === null) this.#deliver({ kind: 'partsSent', connection, copy });
  }

  /** Sends a message. Messages to the hostile follower are so large that each asks for a receipt. */
  #sendContent(
    connection: number,
    messageWith: (receipt: number | null) => MessageToFollower,
  ): void {
    const known = this.#cloud.core.connections.get(connection);
    const isLarge = known !== undefined && hostileIndex(connection) !== null;
    const receipt =
      isLarge && needsReceipt(known.unread, CONTENT_BYTES) ? this.#newReceipt() : null;
    if (isLarge) this.#uncounted.push({ connection, bytes: CONTENT_BYTES, receipt });
    this.#departures.push({ connection, message: messageWith(receipt) });
    const bytes = this.#uncounted.reduce((sum, message) => sum + message.bytes, 0);
    if (bytes >= COUNTED_AT_ONCE_BYTES) this.#countSent();
  }

  #countSent(): void {
    this.#deliver({ kind: 'sent', messages: this.#uncounted.splice(0) });
  }

  /** Returns a number that no message which may be unread has as its receipt. */
  #newReceipt(): number {
    const unread = [...this.#cloud.core.connections.values()].flatMap((of) => of.unread.messages);
    const known = [...unread, ...this.#uncounted].map(({ receipt }) => receipt ?? 0);
    return Math.max(0, ...known) + 1;
  }
}

function endSecondTurn(cloud: Cloud, client: string, defects: Defects): Committed {
  const rest = cloud.betweenTurns.get(client)!;
  const tag = rest.replace('+', '');
  const betweenTurns = new Map(cloud.betweenTurns);
  betweenTurns.delete(client);
  const afterTurn =
    rest === tag ? { ...cloud, betweenTurns } : withNote({ ...cloud, betweenTurns }, tag);
  const head = headOf(afterTurn.storage);
  const outcome = outcomeOf('slow', tag);
  const event = { kind: 'ended', client, head, outcome, bytes: outcomeBytesOf(client) } as const;
  return deliverToCore(afterTurn, event, defects)!;
}

function headOf({ notes }: Storage): Position {
  return { id: notes.length, life: lifeAt(notes, notes.length)! };
}

/** Returns the life of the note with this number, null if there is none; the empty history has life 0. */
function lifeAt(notes: readonly string[], id: number): number | null {
  if (id === 0) return 0;
  const note = notes[id - 1];
  return note === undefined ? null : Number(note.split('@')[1]);
}

/** Returns the lives of the two positions of an unfinished snapshot, null if there is no snapshot. */
function copyLivesOf({ notes }: Storage, copy: CopyMark | null): CopyLives | null {
  if (copy === null) return null;
  return { from: lifeAt(notes, copy.from.id), at: lifeAt(notes, copy.at.id) };
}

/** Makes the message of an effect. A cut is read now, because later effects may write. */
function contentOf(
  storage: Storage,
  effect: Extract<FollowServerEffect, { kind: 'sendEnded' | 'sendCut' }>,
  receipt: number | null,
): MessageToFollower {
  const { last } = effect;
  const outcomes = outcomesOf(storage, effect);
  if (effect.kind === 'sendEnded') return { kind: 'ended', last, outcomes, receipt };
  const { since, parts, to } = effect;
  const onto =
    parts === null
      ? ({ kind: 'position', position: since } as const)
      : ({ kind: 'parts', from: since, count: parts } as const);
  const changes = rowsOf(storage).slice(since.id);
  return { kind: 'cut', onto, to, last, outcomes, changes, receipt };
}

/** The outcomes of the hostile follower are large: after two, none of its calls begins. */
function outcomeBytesOf(client: string): number {
  return isHostileClient(client) ? CONTENT_BYTES : 0;
}

function outcomesOf(
  { clients }: Storage,
  { client, told, last }: ClientAnswers,
): NumberedOutcome[] {
  const stored = clients.get(client)?.outcomes ?? [];
  return stored.filter(([n]) => n > told && n <= last);
}

function withRecord(
  { notes, clients }: Storage,
  { client, record, outcome }: Extract<FollowServerEffect, { kind: 'record' }>,
): Storage {
  const known = clients.get(client);
  const started = known?.record.started ?? 0;
  if (record.started > started + 1 && record.acked < record.started) {
    throw new Broken(`call ${record.started} of ${client} runs after call ${started}`);
  }
  const before = known?.outcomes ?? [];
  const all: readonly NumberedOutcome[] =
    outcome === null ? before : [...before, [record.last, outcome]];
  const outcomes = all.filter(([n]) => n > record.acked);
  return { notes, clients: new Map(clients).set(client, { record, outcomes }) };
}

function rowsOf({ notes }: Storage): Row[] {
  return notes.map((note, index): Row => [index, note]);
}

function outcomeOf(kind: CallKind, tag: string): FollowedOutcome {
  return kind === 'refused' || kind === 'thrown'
    ? { kind: 'error', error: tag }
    : { kind: 'value', value: tag };
}

function withWritesOf(cloud: Cloud, call: FollowedCallMessage, kind: CallKind): Cloud {
  if (kind === 'refused' || kind === 'quiet') return cloud;
  const isFirstTurn = kind === 'slow' || kind === 'lingering';
  return withNote(cloud, isFirstTurn ? `${tagOf(call)}-` : tagOf(call));
}

function withNote(cloud: Cloud, tag: string): Cloud {
  const { notes, clients } = cloud.storage;
  if (notes.some((note) => note.split('@')[0] === tag)) throw new Broken(`${tag} is applied twice`);
  return { ...cloud, storage: { clients, notes: [...notes, `${tag}@${cloud.life}`] } };
}
