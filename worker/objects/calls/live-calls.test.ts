// Live reads through the functions that pages call, and live methods of stubs beside the objects.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { turns } from '../../../packages/testing/page/turns.ts';
import type { Live } from '../../../src/shared/contract/live.ts';
import type { DurableObjectNamespace } from '../../../src/shared/contract/object.ts';
import { createObjects, DurableObject, live, RpcTarget } from '../../start/entries/node-objects.ts';

class Room extends DurableObject {
  runs = 0;
  #inMemory = 0;
  #isBroken = true;

  say(text: string): void {
    this.ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS message(text)');
    this.ctx.storage.sql.exec('INSERT INTO message VALUES (?)', text);
  }

  async put(key: string, value: unknown): Promise<void> {
    await this.ctx.storage.put(key, value);
  }

  count(): number {
    this.#inMemory += 1;
    return this.#inMemory;
  }

  keys(): string[] {
    return [...this.ctx.storage.kv.list()].map(([key]) => key);
  }

  async messages(count = 10): Promise<unknown[]> {
    this.runs += 1;
    const { sql } = this.ctx.storage;
    const exists = sql.exec("SELECT 1 FROM sqlite_schema WHERE name = 'message'").toArray();
    if (exists.length === 0) return [];
    const query = 'SELECT text FROM message ORDER BY rowid DESC LIMIT ?';
    return sql.exec(query, count).raw().toArray().flat();
  }

  async title(): Promise<string> {
    this.runs += 1;
    await new Promise((resolve) => setTimeout(resolve, 5));
    const title = await this.ctx.storage.get<string>('title');
    if (title === 'bad') throw new RangeError('A bad title.');
    return `title ${title}`;
  }

  async writes(): Promise<string> {
    await this.ctx.storage.get('title');
    await this.ctx.storage.put('written', true);
    return 'never';
  }

  writesRows(): void {
    this.say('never');
  }

  async remembersTransaction(): Promise<void> {
    await this.ctx.storage.transaction(async (txn) => txn.get('title'));
  }

  async undo(): Promise<void> {
    await this.ctx.storage.transaction(async (txn) => {
      this.ctx.storage.sql.exec("INSERT INTO message VALUES ('undone')");
      txn.rollback();
    });
  }

  flaky(): string {
    if (this.#isBroken) throw new Error('The memory is not ready.');
    return 'ready';
  }

  mend(): void {
    this.#isBroken = false;
    this.ctx.storage.kv.put('unrelated', 1);
  }

  target(): object {
    return { made: new (class extends RpcTarget {})(), call: () => 1 };
  }

  getRuns(): number {
    return this.runs;
  }

  fail(): void {
    this.ctx.abort('failed by the test');
  }
}

let objects: Awaited<ReturnType<typeof start>>;
const start = () => createObjects({ Room }, {});
const room = () => (objects.env as { Room: DurableObjectNamespace<Room> }).Room.getByName('a');

beforeEach(async () => {
  objects = await start();
});
afterEach(() => objects.close());

const eventually = (check: () => void) => vi.waitFor(check);

/** For events that must not happen. */
const settled = () => turns(30);

/** Every value that a listener gets from its first result on, and every error. */
function follow<T>(followed: Live<T>) {
  const values: T[] = [];
  const errors: unknown[] = [];

  const stop = followed.subscribe(
    (value) => {
      const { status } = followed.getState();
      if (status === 'ready') values.push(value as T);
    },
    { onError: (error) => errors.push(error) },
  );
  return { values, errors, stop };
}

describe('live methods', () => {
  test('[LIVE2] a method gives its result again when its reads have changed', async () => {
    await room().put('first', 1); // it makes the table of keys, which the method could list
    const { values, stop } = follow(live(room()).messages(2));
    await eventually(() => expect(values).toEqual([[]]));
    await room().say('one');
    await room().say('two');
    await room().say('three');
    await eventually(() => expect(values.at(-1)).toEqual(['three', 'two']));
    await settled();
    const runs = await room().getRuns();
    await room().undo();
    await room().put('other', 1);
    await settled();
    expect(await room().getRuns()).toBe(runs);
    stop();
    await room().say('four');
    await settled();
    expect(await room().getRuns()).toBe(runs);
  });

  test('[LIVE2] reads after an await of a timer count too', async () => {
    const { values } = follow(live(room()).title());
    await eventually(() => expect(values).toHaveLength(1));
    await room().put('title', 1);
    await eventually(() => expect(values).toEqual(['title undefined', 'title 1']));
  });

  test('[LIVE2] a change in memory alone gives no new result', async () => {
    const { values } = follow(live(room()).count());
    await eventually(() => expect(values).toEqual([1]));
    await room().count();
    await room().put('a', 1);
    await settled();
    expect(values).toEqual([1]);
  });

  test.for(['writes', 'writesRows', 'remembersTransaction'] as const)(
    '[LIVE3] a live method that writes is refused, and nothing is written: %s',
    async (name) => {
      const { values, errors } = follow<unknown>(live(room())[name]());
      await eventually(() => expect(errors).toMatchObject([{ code: 'LIVE_READ_ONLY' }]));
      expect(values).toEqual([]);
      expect([await room().messages(), await room().keys()]).toEqual([[], []]);
      await room().put('title', 2);
      await room().say('others write as before');
      expect(await room().messages()).toHaveLength(1);
    },
  );

  test('[LIVE4] an error of the method is reported, and the next result comes when it is gone', async () => {
    await room().put('title', 'bad');
    const title = live(room()).title();
    const { values, errors } = follow(title);
    await eventually(() =>
      expect(errors).toMatchObject([{ name: 'RangeError', message: 'A bad title.' }]),
    );
    expect(title.getState()).toMatchObject({ status: 'failed' });
    await room().put('title', 'good');
    await eventually(() => expect(values).toEqual(['title good']));
    expect(title.getState()).toEqual({ status: 'ready', value: 'title good', error: undefined });
    // The object was not reset by the error.
    expect(await room().getRuns()).toBeGreaterThan(1);
  });

  test('[LIVE4] a failed read is tried again after every commit, whatever it has read', async () => {
    const { values, errors } = follow(live(room()).flaky());
    await eventually(() => expect(errors).toHaveLength(1));
    await room().mend();
    await eventually(() => expect(values).toEqual(['ready']));
  });

  test('[LIVE5] results and arguments are plain data', async () => {
    const { errors } = follow(live(room()).target());
    await eventually(() => expect(errors).toMatchObject([{ code: 'INVALID_ARGUMENT' }]));
    expect(String(errors[0])).toContain('plain data');
    expect(() => live(room()).put('a', () => {})).toThrow('plain data');
    expect(() => live({})).toThrow('takes the stub');
    const { errors: unknown } = follow(
      (live(room()) as never as Record<string, () => Live<1>>).nothing!(),
    );
    await eventually(() => expect(unknown).toHaveLength(1));
    expect(unknown).toMatchObject([{ code: 'UNKNOWN_METHOD' }]);
  });

  test('[LIVE6] after a reset of the object the live read goes on', async () => {
    const { values, errors } = follow(live(room()).title());
    await eventually(() => expect(values).toHaveLength(1));
    await room()
      .fail()
      .catch(() => {});
    await room().put('title', 'after');
    await eventually(() => expect(values).toEqual(['title undefined', 'title after']));
    expect(errors).toEqual([]);
  });

  test('[LIVE6] when the host is closed the live read ends with an error', async () => {
    const title = live(room()).title();
    const { errors } = follow(title);
    const iterator = title[Symbol.asyncIterator]();
    await iterator.next();
    const next = iterator.next();
    await objects.close();
    await expect(next).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
    expect(errors).toMatchObject([{ code: 'CONNECTION_CLOSED' }]);
    objects = await start();
  });

  test('[LIVE7] an iterator gives the latest value, and skips those in between', async () => {
    const messages = live(room()).messages(1);
    const seen: unknown[] = [];
    for await (const value of messages) {
      seen.push(value);
      if (seen.length === 1) {
        for (let i = 0; i < 20; i++) await room().say(`text ${i}`);
        await eventually(() => expect(messages.getSnapshot()).toEqual(['text 19']));
      }
      if (seen.length === 2) break;
    }
    expect(seen).toEqual([[], ['text 19']]);
  });
});
