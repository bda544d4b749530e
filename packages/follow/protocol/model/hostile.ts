// The hostile follower of the model. It sends any message of the protocol at any time, twice, never, or in the name of
// another, and reads what it is sent only when it likes.
//
// Its messages reach the server at once: wherever one could be delayed, it could be sent as well. A connection that the
// server has closed is like a new one, because the server keeps nothing of it. So its number is used again.
//
// This file does not know what the server does with a message, nor its promises (server-promises.ts).

import {
  type CopyMark,
  FOLLOW_PROTOCOLS,
  type MessageToFollower,
  type MessageToServer,
  type Position,
} from '../messages.ts';
import type { ClientRecord } from '../server-state.ts';
import type { Cloud, CloudEvent, Departure } from './cloud.ts';
import { Broken } from './device.ts';
import { FIRST_CONNECTION, hostileIndex, NAMES } from './hostile-names.ts';
import type { HostileFollower } from './scenario.ts';

/** A connection of the hostile follower. */
export interface HostileEnd {
  /** True once the server has welcomed this connection. */
  readonly isWelcome: boolean;
  /**
   * The receipts of the messages with content that the server sent on this connection and that the follower has not
   * read; null for a message without a receipt.
   */
  readonly unread: readonly (number | null)[];
}

/** A message that the hostile follower sends, or its closing of a connection. */
export interface HostileAct {
  readonly event: Extract<CloudEvent, { readonly kind: 'received' | 'malformed' }>;
  /** True if the follower has read everything that it was sent before. It then sends the newest receipt. */
  readonly isReading: boolean;
}

const NEW_END: HostileEnd = { isWelcome: false, unread: [] };
/** The marks of the hostile follower's calls. The marks of other calls are smaller. */
const MARKS = [70, 71] as const;
/** Numbers that no receipt has. */
const WRONG_RECEIPT = 0;
const LARGEST = Number.MAX_SAFE_INTEGER;

/**
 * The most messages that may be unread: while one message is unread, a part may follow, and with the last part the
 * update after it.
 */
const UNREAD_COUNT_MAX = 3;

export function hostileEndOf(ends: readonly HostileEnd[], connection: number): HostileEnd | null {
  const index = hostileIndex(connection);
  return index === null ? null : ends[index]!;
}

export function newHostileEnds(hostile: HostileFollower | null): readonly HostileEnd[] {
  return Array.from({ length: hostile?.connections ?? 0 }, () => NEW_END);
}

/** Returns the end of a connection after a message to it. @throws Broken if the follower may not have the message */
export function receivedBy(end: HostileEnd, { message }: Departure<MessageToFollower>): HostileEnd {
  if (message === null) return NEW_END;
  if (message.kind === 'rejected') return end;
  if (message.kind === 'welcome') {
    const { n, mark } = message.received;
    if (mark !== null && !MARKS.some((own) => own === mark)) {
      throw new Broken(`the hostile follower is told call ${n} of another, with its mark`);
    }
    return { ...end, isWelcome: true };
  }
  if (!end.isWelcome) throw new Broken('the hostile follower gets content before its hello');
  for (const [n, outcome] of message.kind === 'part' ? [] : message.outcomes) {
    const told = outcome.kind === 'value' ? String(outcome.value) : '';
    if (!NAMES.some((name) => told === '' || told === `${name}${n}`)) {
      throw new Broken(`the hostile follower gets the outcome of ${told}`);
    }
  }
  const unread = [...end.unread, message.receipt];
  if (unread.length > UNREAD_COUNT_MAX) {
    throw new Broken(
      `the hostile follower is sent ${unread.length} messages that it does not read`,
    );
  }
  return { ...end, unread };
}

/** Lists all that the hostile follower can do next. */
export function hostileActs(
  ends: readonly HostileEnd[],
  cloud: Cloud,
  { kinds }: HostileFollower,
): readonly HostileAct[] {
  return ends.flatMap((end, index) => {
    const connection = FIRST_CONNECTION + index;
    const receipt = end.unread.findLast((given) => given !== null) ?? null;
    const names = NAMES.slice(0, ends.length);
    const said = new Alphabet(cloud, connection, kinds, names).messages(receipt);
    return [
      { event: { kind: 'malformed', connection }, isReading: false } as const,
      ...said.map((message): HostileAct => {
        const isReading = 'receipt' in message && receipt !== null && message.receipt === receipt;
        return { event: { kind: 'received', connection, message }, isReading };
      }),
    ];
  });
}

/**
 * The messages that the follower can send on a connection: each field has the right value, or a value that is wrong in
 * one way.
 */
class Alphabet {
  readonly #cloud: Cloud;
  readonly #connection: number;
  readonly #kinds: HostileFollower['kinds'];
  readonly #names: readonly string[];
  readonly #head: Position;

  constructor(
    cloud: Cloud,
    connection: number,
    kinds: HostileFollower['kinds'],
    names: readonly string[],
  ) {
    this.#cloud = cloud;
    this.#connection = connection;
    this.#kinds = kinds;
    this.#names = names;
    const { notes } = cloud.storage;
    this.#head = { id: notes.length, life: Number(notes.at(-1)?.split('@')[1] ?? 0) };
  }

  /**
   * Returns the messages. `receipt` is the newest receipt that the follower has been asked for; null if there is none.
   */
  messages(receipt: number | null): readonly MessageToServer[] {
    const receipts = receipt === null ? [WRONG_RECEIPT] : [WRONG_RECEIPT, receipt];
    return [
      ...this.#hellos(),
      ...this.#copies().flatMap((copy) =>
        [null, ...receipts].map((of) => ({ kind: 'next', copy, receipt: of }) as const),
      ),
      ...this.#calls(),
      ...this.#acksOf(this.#client).flatMap((ack) =>
        receipts.map((of) => ({ kind: 'ack', ack, receipt: of }) as const),
      ),
    ];
  }

  get #client(): string | null {
    return this.#cloud.core.connections.get(this.#connection)?.client ?? null;
  }

  #recordOf(client: string | null): Pick<ClientRecord, 'started' | 'last' | 'acked'> {
    const { core, storage } = this.#cloud;
    const none = { started: 0, last: 0, acked: 0 };
    if (client === null) return none;
    return core.clients.get(client)?.record ?? storage.clients.get(client)?.record ?? none;
  }

  /**
   * Returns the acknowledgements to try: of nothing, of everything, of one call more than everything, and of the
   * largest number.
   */
  #acksOf(client: string | null): readonly number[] {
    const { last } = this.#recordOf(client);
    return [...new Set([0, last, last + 1, LARGEST])].filter(Number.isSafeInteger);
  }

  #positions(): readonly (Position | null)[] {
    const { id, life } = this.#head;
    const forged = [
      { id, life: life + 50 },
      { id: id + 1, life },
    ];
    return [null, this.#head, ...(id === 0 ? [] : [{ id: 0, life: 0 }]), ...forged];
  }

  #copies(): readonly CopyMark[] {
    const at = this.#head;
    const begun = { from: at, at, parts: 1 };
    const elsewhere = { id: at.id, life: at.life + 50 };
    return [
      { ...begun, next: 1 },
      { ...begun, next: null },
      { ...begun, parts: 7, next: 7 },
      { from: elsewhere, at: elsewhere, parts: 1, next: 1 },
      { from: elsewhere, at: elsewhere, parts: 1, next: null },
    ];
  }

  #hellos(): readonly MessageToServer[] {
    const { core, storage } = this.#cloud;
    const hello = { kind: 'hello', protocol: FOLLOW_PROTOCOLS } as const;
    const nothing = { position: null, copy: null, ack: 0 };
    // The name of a device that has never connected is random, so that nobody can have it before the device.
    const others = ['A', 'B'].filter((name) => storage.clients.has(name) || core.clients.has(name));
    const oldest = { oldest: 1, newest: 1 };
    return [
      { ...hello, ...nothing, protocol: oldest, client: '' },
      ...[...this.#names, ...others].flatMap((client): MessageToServer[] => [
        ...this.#positions().map((position) => ({ ...hello, ...nothing, client, position })),
        ...this.#copies().map((copy) => ({ ...hello, ...nothing, client, copy })),
        ...this.#acksOf(client).map((ack) => ({
          ...{ ...hello, ...nothing, client },
          ...{ position: this.#head, ack },
        })),
      ]),
    ];
  }

  #calls(): readonly MessageToServer[] {
    const client = this.#client;
    const known = client === null ? undefined : this.#cloud.core.clients.get(client);
    const attempted = known?.run.kind === 'attempting' ? known.run.call.n : null;
    const received =
      known?.waiting.at(-1)?.message.n ?? attempted ?? this.#recordOf(client).started;
    const call = (n: number, method: string, again: boolean, ack = 0, mark: number = MARKS[0]) =>
      ({ kind: 'call', n, mark, method, args: `${client ?? NAMES[0]}${n}`, again, ack }) as const;
    const numbers = [received, received + 1, received + 2].filter((n) => n > 0 && n <= LARGEST);
    const [first = 'write'] = this.#kinds;
    return [
      ...numbers.flatMap((n) =>
        this.#kinds.flatMap((kind) => [call(n, kind, false), call(n, kind, true)]),
      ),
      ...numbers.map((n) => call(n, first, false, 0, MARKS[1])),
      ...this.#acksOf(client).flatMap((ack) =>
        received < LARGEST ? call(received + 1, first, false, ack) : [],
      ),
    ];
  }
}
