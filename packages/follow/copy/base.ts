// The base of a replica: a copy of the server's object at one position. Only the server's updates write it.
//
// Invariants:
//   each update is one commit, together with its position and the last call that it contains
//   an object with data of its own does not become a copy, because the first snapshot would delete that data
// An assertion checks that no update goes back to an earlier call. An object with data of its own is a mistake of the
// app, and causes a typed error.
//
// This file does not know the protocol, nor the class of the object, whose code runs on branches of the base.

import { assert, storageError } from '@ctx-storage/core/errors';
import type { ObjectAddress } from '@ctx-storage/core/object';
import type { Database } from '@ctx-storage/worker/engine';
import { annotationOf } from '@ctx-storage/worker/engine';
import type { ObjectHost, ObjectInstance } from '@ctx-storage/worker/objects';
import type { Changes } from '../changes/changes.ts';
import { decodeChanges } from '../changes/changes-bytes.ts';
import type { BaseMark } from '../protocol/follower.ts';
import { applyChanges, applyCopy } from './apply-changes.ts';
import { HeldObject } from './held-object.ts';

const MARK_TABLE =
  'CREATE TABLE IF NOT EXISTS _follow_base (one INTEGER PRIMARY KEY CHECK (one = 1), id INTEGER, life INTEGER, last INTEGER NOT NULL)';
const SET_MARK = 'INSERT OR REPLACE INTO _follow_base VALUES (1, ?1, ?2, ?3)';
const GET_MARK = 'SELECT id, life, last FROM _follow_base';
const SELECT_MARK_TABLE = "SELECT 1 FROM sqlite_master WHERE name = '_follow_base'";
const FOLLOW_ANNOTATION = annotationOf({ kind: 'follow' });

export class Base {
  readonly #held: HeldObject;
  /** The mark of the base when it was opened. */
  readonly mark: BaseMark;
  /** The last call that the base contains. */
  #last: number;

  /** Opens the base, or creates it. @throws CONFLICT if the object has data of its own, and errors of opening the object */
  static async open(host: ObjectHost, address: ObjectAddress): Promise<Base> {
    const held = await HeldObject.open(host, address);
    try {
      const mark = await held.event(readMark);
      if (mark !== null) return new Base(held, mark);
      if (!held.instance.storage.isUnwritten) throw hasOwnData(address);
      const base = new Base(held, { position: null, last: 0 });
      await base.#write(({ database }) => setMark(database, base.mark));
      return base;
    } catch (error) {
      held.release();
      throw error;
    }
  }

  private constructor(held: HeldObject, mark: BaseMark) {
    this.#held = held;
    this.mark = mark;
    this.#last = mark.last;
  }

  get instance(): ObjectInstance {
    return this.#held.instance;
  }

  /**
   * Applies changes and stores their mark, in one durable commit.
   *
   * @throws INVALID_ARGUMENT, SQL if the changes do not fit the copy; then nothing is applied
   */
  apply(changes: unknown, mark: BaseMark): Promise<void> {
    assert(mark.last >= this.#last, 'a copy goes back to an earlier call');
    this.#last = mark.last;
    return this.#write((copy) => {
      applyChanges(copy, decodeChanges(changes));
      setMark(copy.database, mark);
    });
  }

  /** Replaces the content by the parts of a snapshot and the changes since its first part. @throws as apply */
  replace(parts: Iterable<unknown>, changes: unknown, mark: BaseMark): Promise<void> {
    this.#last = mark.last;
    return this.#write((copy) => {
      applyCopy(copy, decodeEach(parts), decodeChanges(changes));
      setMark(copy.database, mark);
    });
  }

  /** Forgets the position of the base, so that the next connection gets a snapshot. */
  forgetPosition({ last }: BaseMark): Promise<void> {
    return this.#write(({ database }) => setMark(database, { position: null, last }));
  }

  close(): void {
    this.#held.release();
  }

  #write(write: Parameters<ObjectInstance['storage']['replicate']>[0]): Promise<void> {
    return this.#held.event((storage) => storage.replicate(write), FOLLOW_ANNOTATION);
  }
}

function* decodeEach(parts: Iterable<unknown>): Iterable<Changes> {
  for (const part of parts) yield decodeChanges(part);
}

function setMark(database: Database, { position, last }: BaseMark): void {
  database.run(MARK_TABLE);
  const statement = database.statement(SET_MARK);
  if (position === null) {
    statement.bindNull(1);
    statement.bindNull(2);
  } else {
    statement.bindNumber(1, position.id);
    statement.bindNumber(2, position.life);
  }
  statement.bindNumber(3, last);
  statement.step();
}

function readMark(storage: ObjectInstance['storage']): BaseMark | null {
  if (storage.exec(SELECT_MARK_TABLE, []).toArray().length === 0) return null;
  const [row] = [...storage.exec(GET_MARK, []).raw()] as [[number | null, number, number]];
  const [id, life, last] = row;
  return { position: id === null ? null : { id, life }, last };
}

function hasOwnData({ className, id }: ObjectAddress): Error {
  return storageError(
    'CONFLICT',
    `follow: object ${id.name} of ${className} has data that the server has not; delete the object, or follow ` +
      'under another name.',
  );
}
