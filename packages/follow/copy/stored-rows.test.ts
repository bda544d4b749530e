// Tests that an object opens whatever rows the tables of this package have, and that its copies are equal to it.

import { afterEach, beforeEach, expect, test } from 'vitest';
import type { DurableObjectStorage } from '../../../src/shared/contract/storage.ts';
import { NO_FOLLOWERS } from '../../../worker/objects/host/followers.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { Random } from '../../testing/simulate/world/random.ts';
import { createTestHost, type TestHost } from '../../testing/worker/test-host.ts';
import { Capture } from '../capture/capture.ts';
import type { Changes } from '../changes/changes.ts';
import { decodeChanges, encodeChanges } from '../changes/changes-bytes.ts';
import { FOLLOW_PROTOCOLS, type Position } from '../protocol/messages.ts';
import { ClientRecords } from '../server/client-records.ts';
import { contentDump } from '../testing/content-dump.ts';
import { anyLoss, anyNote, anyRow, type Damage } from '../testing/stored-damage.ts';
import { wholeCopy } from '../testing/whole-copy.ts';
import { applyChanges } from './apply-changes.ts';

let capture: Capture;
let records: ClientRecords;
let life = 1;

class Room extends DurableObject {
  constructor(ctx: never, env: never) {
    super(ctx, env);
    const storage = this.ctx.storage as unknown as DurableObjectStorage;
    records = new ClientRecords(
      storage,
      () => 0,
      () => (stored) => stored,
    );
    capture = new Capture(storage, { life, notesMax: 30, onWrite() {} });
    this.ctx.storage.sql.exec(
      'CREATE TABLE IF NOT EXISTS item (id INTEGER PRIMARY KEY, name TEXT UNIQUE); ' +
        'CREATE TABLE IF NOT EXISTS pair (a TEXT, b INTEGER, v, PRIMARY KEY (a, b)) WITHOUT ROWID',
    );
  }
}

let server: TestHost;
let mirror: TestHost;
let position: Position;
beforeEach(async () => {
  life = 1;
  position = { id: 0, life: 0 };
  server = await createTestHost({}, { Room });
  mirror = await createTestHost({}, { Room });
  mirror.host.followers = { ...NO_FOLLOWERS, classNames: new Set(['Room']) };
});
afterEach(async () => {
  await server.close();
  await mirror.close();
});

function onServer<T>(run: (storage: DurableObjectStorage) => T | Promise<T>): Promise<T> {
  return server.run(({ storage }) => run(storage as unknown as DurableObjectStorage));
}

/** Runs statements that do not pass through this package, then starts the object's next instance. */
async function damaged(...damages: readonly Damage[]): Promise<void> {
  await server.host.deliver(server.address(), ({ storage }) => {
    for (const [query, ...bindings] of damages) {
      try {
        Array.from(storage.exec(query, bindings).raw());
      } catch {
        // A constraint of the table forbids the row, or the table is gone.
      }
    }
  });
  await server.host.evict(server.address());
  life += 1;
}

/** Makes the copy equal as a server does: by changes if the object has its position, otherwise by a snapshot. */
async function catchUp(): Promise<void> {
  const changes = await onServer((): Changes[] => {
    const head = capture.head();
    expect([Number.isSafeInteger(head.id), Number.isInteger(head.life)]).toEqual([true, true]);
    const isKnown = capture.lifeAt(position.id) === position.life;
    const found = isKnown ? capture.changesSince(position, 1_000_000) : null;
    capture.prune(() => head.id);
    position = head;
    return found === null ? wholeCopy(capture) : [found];
  });
  await mirror.host.deliver(mirror.address(), ({ storage }) =>
    storage.replicate((copy) => {
      for (const one of changes) applyChanges(copy, decodeChanges(encodeChanges(one)));
    }),
  );
}

async function expectEqual(): Promise<void> {
  await catchUp();
  expect(await dumpOf(mirror)).toEqual(await dumpOf(server));
}

function dumpOf(host: TestHost): Promise<unknown> {
  return host.host.deliver(host.address(), async ({ storage }) => {
    const content = await contentDump((query) => [...storage.exec(query, []).raw()]);
    const list = storage.list({ start: new Uint8Array(), end: null, reverse: false, limit: null });
    const keys: unknown[] = [];
    for (let entry = list.next(); entry !== undefined; entry = list.next()) {
      keys.push([entry.key, [...entry.value]]);
    }
    return [content, keys];
  });
}

/** Writes as the class does. */
function write(random: Random): Promise<void> {
  return onServer(({ sql, kv }) => {
    for (let i = random.below(4); i >= 0; i--) {
      const n = random.below(9);
      sql.exec('INSERT OR REPLACE INTO item VALUES (?, ?)', n, `name ${random.below(9)}`);
      sql.exec('INSERT OR REPLACE INTO pair VALUES (?, ?, ?)', `${random.below(3)}`, n, i);
      if (random.onceIn(3)) sql.exec('DELETE FROM item WHERE id = ?', random.below(9));
      if (random.onceIn(3)) sql.exec('DELETE FROM pair WHERE b = ?', random.below(9));
      kv.put(`key ${n}`, i);
      if (random.onceIn(3)) kv.delete(`key ${random.below(9)}`);
    }
  });
}

/** Answers the calls that were begun, as the next instance does. */
function answerBegunCalls(): Promise<void> {
  return onServer(() => {
    for (const [name, record] of records.recordsWithUnansweredCall()) {
      const last = record.last + 1;
      const outcome = { kind: 'failed', code: 'CALL_INTERRUPTED' } as const;
      records.store(name, { ...record, last, attempts: 0 }, outcome);
      expect(records.get(name)!.record).toMatchObject({ last, started: last });
      expect(records.outcomes({ client: name, told: last - 1, last }).outcomes).toEqual([
        [last, outcome],
      ]);
    }
    expect(records.recordsWithUnansweredCall().size).toBe(0);
  });
}

const PAGE = {
  kind: 'hello',
  protocol: FOLLOW_PROTOCOLS,
  client: 'page',
  position: null,
  copy: null,
  ack: 0,
} as const;

const SEEDS = Array.from({ length: 40 }, (_, i) => i + 1);

test.for(SEEDS)(
  '[FOLC13] an object opens with any rows and without any table: seed %i',
  async (seed) => {
    const random = new Random(seed);
    await onServer(() => records.admit(PAGE, 'ann', 1000, []));
    for (let round = 0; round < 5; round++) {
      await write(random);
      if (!random.onceIn(4)) await expectEqual();
      await write(random);
      const make = random.pick([anyRow, anyRow, anyNote, anyNote, anyLoss]);
      const damages = Array.from({ length: 1 + random.below(4) }, () => make(random));
      await damaged(...damages);
      try {
        await answerBegunCalls();
        await write(random);
        await expectEqual();
      } catch (cause) {
        throw new Error(`round ${round}: ${JSON.stringify(damages)}`, { cause });
      }
    }
    await onServer((storage) => storage.deleteAll());
    await server.host.evict(server.address());
    await write(random);
    await expectEqual();
  },
);
