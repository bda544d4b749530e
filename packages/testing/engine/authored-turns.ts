// Makes turns of a simulated object in which events of several authors write: a constructor, calls, an alarm, two tabs.
//
// Each event writes a row, a key, the alarm and a second table, in any order, among other changes. However they are
// ordered, the writes of one author are one state of the history, and those of two authors are two. A bookmark, an
// export, a requested restore and `deleteAll` end a state where they are called.
//
// Invariant: a state is expected only once its events have ended; an interrupted state is never expected.

import type { Binding } from '../../../src/shared/contract/bindings.ts';
import { type Annotation, annotationOf } from '../../../worker/engine/log/annotation.ts';
import { UNRESTRICTED } from '../../../worker/engine/storage/access-policy.ts';
import type { Random } from '../simulate/world/random.ts';
import { CREATE_SECOND, EMPTY } from './contents.ts';
import type { History, State } from './history.ts';
import type { SimulatedObject, World } from './simulated-object.ts';
import { Draft, type Workload } from './workload.ts';

const CONSTRUCTOR = annotationOf({ kind: 'constructor' });

/**
 * The authors whose events take turns: methods with different names, tabs with different connections or labels, and
 * undefined for events without an author.
 */
const AUTHORS: readonly (Annotation | undefined)[] = [
  annotationOf({ kind: 'call', method: 'add' }),
  annotationOf({ kind: 'call', method: 'plus' }),
  annotationOf({ kind: 'call', method: 'add', connection: 'tab-b' }),
  annotationOf({ kind: 'storage', connection: 'tab-a' }),
  annotationOf({ kind: 'storage', connection: 'tab-b' }),
  annotationOf({ kind: 'storage', connection: 'tab-b', label: 'one' }),
  annotationOf({ kind: 'storage', connection: 'tab-b', label: 'two' }),
  annotationOf({ kind: 'alarm' }),
  annotationOf({ kind: 'socket' }),
  undefined,
];

const EVENTS_MAX = 4;
/** The largest number of rows in the second table. */
const SECOND_ROWS = 12;
const INSERT_SECOND = 'INSERT INTO u VALUES(?, ?) ON CONFLICT DO UPDATE SET v = excluded.v';

type Storage = SimulatedObject['storage'];

/** The operations that end a commit in the middle of an event. */
export type StateEnd = 'bookmark' | 'export' | 'restore';
const STATE_ENDS: readonly StateEnd[] = ['bookmark', 'bookmark', 'export', 'restore'];

export interface AuthoredTurnsOptions {
  readonly random: Random;
  readonly work: Workload;
  readonly history: History;
  readonly world: Pick<World, 'running'>;
  /** Returns the elapsed time in milliseconds. */
  elapsedMs(): number;
  /** Performs an operation that ends the last state of the history. */
  endState(by: StateEnd): void;
}

export class AuthoredTurns {
  readonly #random: Random;
  readonly #work: Workload;
  readonly #history: History;
  readonly #world: Pick<World, 'running'>;
  readonly #elapsedMs: () => number;
  readonly #endState: (by: StateEnd) => void;
  /** The last state that a deletion of everything has made. */
  #deleted: State | undefined;
  /** The object whose constructor has run. */
  #constructed: SimulatedObject | undefined;

  constructor({ random, work, history, world, elapsedMs, endState }: AuthoredTurnsOptions) {
    this.#random = random;
    this.#work = work;
    this.#history = history;
    this.#world = world;
    this.#elapsedMs = elapsedMs;
    this.#endState = endState;
  }

  /** Begins an event of a random author. */
  beginEventOfAnybody(): void {
    this.#begin(this.#random.pick(AUTHORS));
  }

  /**
   * Runs the events of a turn. The caller ends the turn, which commits the last state. The first event of an object is
   * its constructor.
   */
  run(object: SimulatedObject): void {
    const random = this.#random;
    if (this.#constructed !== object) {
      this.#constructed = object;
      this.#begin(CONSTRUCTOR);
      this.#construct(object.storage);
    }
    const count = 1 + random.below(EVENTS_MAX);
    const authors = [random.pick(AUTHORS), random.pick(AUTHORS)];
    for (let i = 0; i < count; i++) {
      this.#beginEventOf(random.pick(authors));
      this.#event(object.storage);
    }
  }

  /** Begins an event of this author. Its first write ends the state of the previous author. */
  #beginEventOf(author: Annotation | undefined): void {
    if (author !== this.#world.running?.author) this.#history.committed();
    this.#begin(author);
  }

  #begin(author: Annotation | undefined): void {
    this.#world.running = { author, policy: UNRESTRICTED, hasWritten: false };
  }

  /** Runs a constructor, which usually writes nothing, although its SQL could write. */
  #construct(storage: Storage): void {
    const draft = this.#draft();
    const isNew = draft.second === null;
    this.#createSecond(storage, draft);
    if (this.#random.onceIn(3)) this.#writeAll(storage, draft);
    else if (isNew) this.#work.mark(storage, draft);
    else return;
    this.#expect(draft);
  }

  #event(storage: Storage): void {
    const random = this.#random;
    const draft = this.#draft();
    const isDeletion = random.onceIn(12);
    if (!isDeletion || random.onceIn(2)) this.#writeAll(storage, draft);
    if (isDeletion) this.#deleteAll(storage, draft);
    else {
      this.#expect(draft);
      if (!random.onceIn(8)) return;
      this.#endState(random.pick(STATE_ENDS));
    }
    const rest = this.#draft();
    this.#writeAll(storage, rest);
    this.#expect(rest);
  }

  #deleteAll(storage: Storage, { alarm }: Draft): void {
    this.#history.attempt = null; // The turn is undone, and its state would be deleted anyway.
    storage.deleteAll();
    // A second deletion in a turn is a commit only if the alarm, which a deletion keeps, was changed between both.
    const { last } = this.#history;
    if (this.#deleted === last && last.contents.alarm === alarm) return;
    this.#expect({ ...EMPTY, alarm });
    this.#history.committed();
    this.#deleted = this.#history.last;
  }

  /** Writes to every kind of storage that one commit must contain, in any order, with other changes between. */
  #writeAll(storage: Storage, draft: Draft): void {
    const random = this.#random;
    const work = this.#work;
    const actions = [
      () => work.mark(storage, draft),
      () => work.upsert(storage, draft),
      () => work.setAlarm(storage, draft),
      () => this.#writeSecond(storage, draft),
      ...Array.from({ length: random.below(3) }, () => () => work.change(storage, draft)),
    ];
    while (actions.length > 0) actions.splice(random.below(actions.length), 1)[0]!();
  }

  #writeSecond(storage: Storage, draft: Draft): void {
    const random = this.#random;
    const second =
      draft.second === null || random.onceIn(3) ? this.#createSecond(storage, draft) : draft.second;
    const rows = Array.from({ length: random.pick([1, 1, 4]) }, () => [
      random.below(SECOND_ROWS),
      random.below(1_000_000),
    ]);
    if (random.onceIn(3)) {
      const id = random.below(SECOND_ROWS);
      storage.exec('DELETE FROM u WHERE id = ?', [id]);
      second.delete(id);
    }
    if (random.onceIn(2))
      storage.together(() => storage.execEach(INSERT_SECOND, rows as Binding[][]));
    else for (const row of rows) storage.exec(INSERT_SECOND, row);
    for (const [id, value] of rows) second.set(id!, value!);
  }

  #createSecond(storage: Storage, draft: Draft): Map<number, number> {
    storage.exec(CREATE_SECOND, []);
    draft.second ??= new Map();
    return draft.second;
  }

  /** Returns the state so far, to which the next writes are added. */
  #draft(): Draft {
    const { attempt, last } = this.#history;
    return new Draft((attempt ?? last).contents);
  }

  #expect(contents: ConstructorParameters<typeof Draft>[0]): void {
    this.#history.beginCommit(contents, this.#elapsedMs(), this.#world.running?.author?.by ?? null);
  }
}
