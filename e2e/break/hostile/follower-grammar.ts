// The messages of hostile followers: those of a follower that keeps to the protocol, changed in their fields, in their
// bytes, in their order, and repeated.
//
// A changed message reaches further into a server than a random one, because what it builds on is right: the numbers of
// calls, the place in a snapshot, the receipts.

import type { Draws } from '../../../packages/testing/page/draws.ts';
import { serialize } from '../../../src/shared/values/encode.ts';
import { mutate } from './byte-mutations.ts';

export type FollowerBytes = Uint8Array<ArrayBuffer> | string;

/** What a follower knows of its connection. */
export interface FollowerView {
  readonly client: string;
  readonly isGreeted: boolean;
  /** The newest call that the server has received, or that was sent here. */
  readonly n: number;
  /** The last call with an outcome. */
  readonly last: number;
  readonly position: unknown;
  /** The mark of a snapshot whose next part may be asked for; null if there is none. */
  readonly copy: unknown;
  readonly receipt: number | null;
  /** True if it neither confirms nor acknowledges anything, and asks for more. */
  readonly isDeaf: boolean;
}

type Message = Readonly<Record<string, unknown>>;

const NUMBERS = [0, 1, 2, 64, 65, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 53, -1, 0.5, Number.NaN];
const TEXTS = ['', 'a', '__proto__', '\ud800', 'x'.repeat(300), 'hello', 'position', 'parts'];
const METHODS = [
  ...['keep', 'slow', 'refuse', 'large', 'fill'],
  ...['tell', 'constructor', '__proto__', 'fetch', 'alarm', 'toString', 'ctx', 'then'],
];
/** Few sent messages are kept: those to be sent again or cut up. */
const KEPT = 64;
const TOO_LONG_BYTES = 2 ** 20 + 1;

export class FollowerGrammar {
  readonly #draws: Draws;
  readonly #sent: FollowerBytes[] = [];
  readonly #held: FollowerBytes[] = [];
  /** True if nearly all messages are right, so that a connection lives long enough to reach the bounds of the server. */
  readonly #isTame: boolean;
  #expected: Partial<FollowerView> = {};

  constructor(draws: Draws) {
    this.#draws = draws;
    this.#isTame = draws.chance(0.3);
  }

  /**
   * The next message of a connection, which is often wrong in one way; and what the follower expects before it has an
   * answer, so that it can send more meanwhile.
   */
  next(view: FollowerView): readonly [bytes: FollowerBytes, expected: Partial<FollowerView>] {
    this.#expected = {};
    const bytes = this.#make(view);
    this.#sent.push(bytes);
    if (this.#sent.length > KEPT) this.#sent.shift();
    return [bytes, this.#expected];
  }

  #make(view: FollowerView): FollowerBytes {
    const { below, pick, chance } = this.#draws;
    const right = () => serialize(this.#right(view));
    const kind = below(this.#isTame ? 41 : 100);
    if (kind < 40) return right();
    if (kind < 60) return serialize(this.#nearMiss(this.#right(view), view));
    if (kind < 68) return serialize(this.#withWrongField(this.#right(view)));
    if (kind < 74) return this.#mutated(right());
    if (kind < 76) return this.#mutated(serialize(this.#withWrongField(this.#right(view))));
    if (kind < 84) return this.#sent.length > 0 ? pick(this.#sent) : right();
    if (kind < 87) return this.#spliced(right());
    if (kind < 92) {
      // A message that overtakes another.
      if (this.#held.length > 0 && chance(0.5)) return this.#held.shift()!;
      this.#held.push(right());
      return right();
    }
    if (kind < 97) return serialize(this.#of(pick(['hello', 'next', 'call', 'ack']), view));
    if (kind < 98) return serialize(this.#odd(2));
    if (kind < 99) return pick(['_follow_ping', '', 'noise', '{"kind":"hello"}']);
    return chance(0.1) ? new Uint8Array(TOO_LONG_BYTES) : right();
  }

  /** The message that a follower would send next. */
  #right(view: FollowerView): Message {
    const { pick, below } = this.#draws;
    if (!view.isGreeted) return this.#of('hello', view);
    if (view.copy !== null || (view.isDeaf && below(3) === 0)) return this.#of('next', view);
    return this.#of(pick(['call', 'call', view.receipt === null ? 'call' : 'ack']), view);
  }

  /** A message whose numbers, names or places are those of another moment, or of another follower. */
  #nearMiss(message: Message, { n, last, receipt, position, copy }: FollowerView): Message {
    const { pick, below } = this.#draws;
    const numbers = [0, n, n + 1, n + 2, n + 64, last, last + 1, receipt ?? 1];
    const places = [null, position, { id: n, life: 1 }, { id: 0, life: 0 }];
    const changes: Readonly<Record<string, () => unknown>> = {
      n: () => pick(numbers),
      ack: () => pick(numbers),
      mark: () => pick(numbers),
      receipt: () => pick([...numbers, null]),
      client: () => `stranger-${below(40)}`,
      position: () => pick(places),
      copy: () => pick([copy, copyMark(), { ...copyMark(), ...(copy as object | null) }]),
      again: () => true,
      method: () => pick(METHODS),
    };
    const field = pick(Object.keys(message).filter((name) => name in changes));
    return { ...message, [field]: changes[field]!() };
  }

  #of(kind: string, view: FollowerView): Message {
    const { pick, chance, below } = this.#draws;
    const { client, n, last, position, copy, receipt } = view;
    switch (kind) {
      case 'hello':
        this.#expected = { isGreeted: true };
        return {
          ...{ kind, protocol: { oldest: 2, newest: 2 }, client },
          ...{
            position: chance(0.5) ? position : null,
            copy: chance(0.2) ? copy : null,
            ack: last,
          },
        };
      case 'next':
        this.#expected = { copy: null };
        return { kind, copy: copy ?? copyMark(), receipt };
      case 'ack':
        this.#expected = { receipt: null };
        return { kind, ack: last, receipt: receipt ?? 0 };
      default:
        this.#expected = { n: n + 1 };
        return {
          ...{ kind: 'call', n: n + 1, mark: below(2 ** 32), method: pick(METHODS) },
          ...{ args: serialize(this.#args()), again: chance(0.2), ack: chance(0.7) ? last : 0 },
        };
    }
  }

  #args(): unknown {
    const { chance, below } = this.#draws;
    return chance(0.1) ? this.#odd(3) : ['forged', below(8)];
  }

  /** A copy of the message with one field, at any depth, replaced, left out or added. */
  #withWrongField(message: Message): Message {
    const { pick, below } = this.#draws;
    const field = pick(Object.keys(message));
    const value = message[field];
    const isDeeper = typeof value === 'object' && value !== null && !ArrayBuffer.isView(value);
    if (isDeeper && below(3) > 0 && Object.keys(value).length > 0) {
      return { ...message, [field]: this.#withWrongField(value as Message) };
    }
    if (below(8) > 0) return { ...message, [field]: this.#odd(2) };
    const { [field]: _, ...others } = message;
    return below(2) === 0 ? others : { ...message, extra: this.#odd(1) };
  }

  #odd(depth: number): unknown {
    const { pick, below } = this.#draws;
    switch (below(depth > 0 ? 8 : 5)) {
      case 0:
      case 1:
        return pick(NUMBERS);
      case 2:
        return pick(TEXTS);
      case 3:
        return pick([null, undefined, true, false, 1n, -(2n ** 70n)]);
      case 4:
        return pick<() => unknown>([
          () => new Uint8Array(below(40)),
          () => new Date(Number.NaN),
          () => /x/,
          () => new Error('forged'),
          () => new Map([[1, 2]]),
        ])();
      case 5:
        return this.#draws.times(below(4), () => this.#odd(depth - 1));
      case 6:
        return { id: this.#odd(depth - 1), life: this.#odd(depth - 1) };
      default:
        return { ...copyMark(), [pick(['from', 'at', 'parts', 'next'])]: this.#odd(depth - 1) };
    }
  }

  #mutated(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
    let changed = bytes;
    for (let i = 0; i <= this.#draws.below(3); i++) changed = mutate(changed, this.#draws);
    return new Uint8Array(changed);
  }

  /** The beginning of one message with the end of another. */
  #spliced(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const { pick, below } = this.#draws;
    const others = this.#sent.filter((sent) => typeof sent !== 'string');
    const other = others.length > 0 ? pick(others) : bytes;
    const [head, tail] = [below(bytes.length + 1), below(Math.min(other.length, 4096) + 1)];
    const joined = new Uint8Array(head + tail);
    joined.set(bytes.subarray(0, head));
    joined.set(other.subarray(0, tail), head);
    return joined;
  }
}

/** A mark that no server has given. */
function copyMark(): Message {
  const from = { id: 0, life: 0 };
  return { from, at: from, parts: 1, next: null };
}
