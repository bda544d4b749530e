// The server in the model: the protocol's state (server.ts), and an object's storage, whose history is a list of notes.
//
// An event is one transaction: its records and the writes of its method are committed together, then its messages leave.
//
// Invariant: only a committed transaction changes `storage`.

import type {
  CopyMark,
  FollowedCallMessage,
  FollowedOutcome,
  MessageToFollower,
  MessageToServer,
  NumberedOutcome,
  Position,
} from '../messages.ts';
import { openFollowServer, stepFollowServer } from '../server.ts';
import type {
  ClientAnswers,
  CopyLives,
  FollowServerEffect,
  FollowServerEvent,
} from '../server-events.ts';
import type { ClientRecord, FollowerConnection, FollowServer } from '../server-state.ts';
import type { Defects } from './defects.ts';
import { Broken, type Row, tagOf } from './device.ts';
import type { CallKind, Scenario } from './scenario.ts';

/** What is stored of a client: its record, and the outcomes of the calls that it has not acknowledged. */
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
  /** For each client, the call that is between its two turns: its tag, after a `+` if the second turn writes. */
  readonly betweenTurns: ReadonlyMap<string, string>;
}

/** `starts` begins another instance, with the present storage or, after a restore, with an earlier commit. */
export type CloudEvent =
  | { readonly kind: 'received'; readonly connection: number; readonly message: MessageToServer }
  | { readonly kind: 'closed'; readonly connection: number }
  | { readonly kind: 'attemptStored'; readonly client: string }
  /** The second turn of a slow call ends. */
  | { readonly kind: 'slowEnds'; readonly client: string }
  | { readonly kind: 'starts'; readonly storage: Storage }
  /** An idle instance leaves memory; its connections stay. */
  | { readonly kind: 'hibernates' };

/** A message that a side sends. If `message` is null, the side closes the connection. */
export interface Departure<Message> {
  readonly connection: number;
  readonly message: Message | null;
}

export interface Committed {
  readonly cloud: Cloud;
  readonly departures: readonly Departure<MessageToFollower>[];
}

const VERSION = 1;
/** A snapshot has two parts: the notes with an even index, then the others. */
const PART_COUNT = 2;

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
  const { state, effects } = openFollowServer(defects.serverStart?.(stored) ?? stored);
  const cloud: Cloud = { core: state, storage, life, betweenTurns: new Map() };
  return performAll(cloud, effects, defects)!;
}

/** Returns the server after an event; null if the event ended the instance, and its transaction is lost. */
export function deliver(
  cloud: Cloud,
  event: CloudEvent,
  scenario: Scenario,
  defects: Defects,
): Committed | null {
  const { core, storage, life } = cloud;
  const head = headOf(storage);
  switch (event.kind) {
    case 'starts':
      return startCloud(event.storage, life + 1, new Map(), defects);
    case 'hibernates':
      return startCloud(storage, life + 1, core.connections, defects);
    case 'slowEnds':
      return endSecondTurn(cloud, event.client, scenario, defects);
    case 'received':
      return deliverToCore(
        cloud,
        eventOf(storage, event.connection, event.message),
        scenario,
        defects,
      );
    default:
      return deliverToCore(cloud, { ...event, head }, scenario, defects);
  }
}

/** Makes the event of a received message, with the facts of the storage that server.ts needs. */
function eventOf(
  storage: Storage,
  connection: number,
  message: MessageToServer,
): FollowServerEvent {
  const head = headOf(storage);
  if (message.kind === 'call') return { kind: 'call', connection, message, bytes: 0, head };
  if (message.kind === 'ack') return { kind: 'ack', connection, message, head };
  const copyLives = copyLivesOf(storage, message.copy);
  if (message.kind === 'next') return { kind: 'next', connection, message, copyLives, head };
  const { client, position } = message;
  const lifeAtPosition = position === null ? null : lifeAt(storage.notes, position.id);
  const record = storage.clients.get(client)?.record ?? null;
  const facts = { record, lifeAtPosition, copyLives, canSnapshot: true, head };
  return { kind: 'hello', connection, message, ...facts };
}

function deliverToCore(
  cloud: Cloud,
  event: FollowServerEvent,
  { calls }: Scenario,
  defects: Defects,
): Committed | null {
  const core = defects.serverState?.(cloud.core, event) ?? cloud.core;
  const { state, effects } = stepFollowServer(core, defects.serverEvent?.(event) ?? event);
  return performAll(
    { ...cloud, core: state },
    effects,
    defects,
    (tag) => calls[Number(tag.slice(1)) - 1]!.kind,
  );
}

function performAll(
  cloud: Cloud,
  first: readonly FollowServerEffect[],
  defects: Defects,
  kindOf?: (tag: string) => CallKind,
): Committed | null {
  const departures: Departure<MessageToFollower>[] = [];
  let effects = [...(defects.serverEffects?.(first) ?? first)];
  for (let effect = effects.shift(); effect !== undefined; effect = effects.shift()) {
    switch (effect.kind) {
      case 'record': {
        cloud = { ...cloud, storage: withRecord(cloud.storage, effect) };
        break;
      }
      case 'storeAttempt':
        break;
      case 'run': {
        const { client, call } = effect;
        const kind = kindOf!(tagOf(call));
        if (kind === 'fatal') return null;
        cloud = withWritesOf(cloud, call, kind);
        const isSlow = kind === 'slow' || kind === 'lingering';
        if (isSlow) {
          const rest = kind === 'slow' ? `+${tagOf(call)}` : tagOf(call);
          cloud = { ...cloud, betweenTurns: new Map(cloud.betweenTurns).set(client, rest) };
        }
        const head = headOf(cloud.storage);
        const turnEnd: FollowServerEvent = isSlow
          ? { kind: 'paused', client, head }
          : { kind: 'ended', client, head, outcome: outcomeOf(kind, tagOf(call)), bytes: 0 };
        const next = stepFollowServer(cloud.core, turnEnd);
        cloud = { ...cloud, core: next.state };
        effects = [...effects, ...(defects.serverEffects?.(next.effects) ?? next.effects)];
        break;
      }
      case 'sendPart': {
        const { connection, from, at, parts } = effect;
        const copy = {
          from,
          at,
          parts: parts + 1,
          next: parts + 1 < PART_COUNT ? parts + 1 : null,
        };
        const changes = rowsOf(cloud.storage).filter(([i]) => i % PART_COUNT === parts);
        const message = { kind: 'part', copy, progress: 1, changes, receipt: null } as const;
        departures.push({ connection, message });
        if (copy.next !== null) break;
        const asked = { kind: 'next', copy, receipt: null } as const;
        const copyLives = { from: from.life, at: at.life };
        const facts = { copyLives, head: headOf(cloud.storage) };
        const event = { kind: 'next', connection, message: asked, ...facts } as const;
        const next = stepFollowServer(cloud.core, event);
        cloud = { ...cloud, core: next.state };
        effects = [...effects, ...(defects.serverEffects?.(next.effects) ?? next.effects)];
        break;
      }
      default:
        departures.push(departureOf(cloud.storage, effect));
    }
  }
  return { cloud, departures };
}

function endSecondTurn(
  cloud: Cloud,
  client: string,
  scenario: Scenario,
  defects: Defects,
): Committed {
  const rest = cloud.betweenTurns.get(client)!;
  const tag = rest.replace('+', '');
  const betweenTurns = new Map(cloud.betweenTurns);
  betweenTurns.delete(client);
  const afterTurn =
    rest === tag ? { ...cloud, betweenTurns } : withNote({ ...cloud, betweenTurns }, tag);
  const head = headOf(afterTurn.storage);
  const outcome = outcomeOf('slow', tag);
  const event = { kind: 'ended', client, head, outcome, bytes: 0 } as const;
  return deliverToCore(afterTurn, event, scenario, defects)!;
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
function departureOf(
  storage: Storage,
  effect: Extract<FollowServerEffect, { kind: 'send' | 'sendEnded' | 'sendCut' | 'close' }>,
): Departure<MessageToFollower> {
  const { connection } = effect;
  if (effect.kind === 'close') return { connection, message: null };
  if (effect.kind === 'send') return { connection, message: effect.message };
  const { last } = effect;
  const outcomes = outcomesOf(storage, effect);
  if (effect.kind === 'sendEnded') {
    return { connection, message: { kind: 'ended', last, outcomes, receipt: null } };
  }
  const { since, parts, to } = effect;
  const onto =
    parts === null
      ? ({ kind: 'position', position: since } as const)
      : ({ kind: 'parts', from: since, count: parts } as const);
  const changes = rowsOf(storage).slice(since.id);
  const answers = { last, outcomes };
  return { connection, message: { kind: 'cut', onto, to, ...answers, changes, receipt: null } };
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
  const before = clients.get(client)?.outcomes ?? [];
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
