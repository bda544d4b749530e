// Tests an object with hostile followers, which send forged names, numbers, positions and methods, wrong shapes and noise.
// Another follower, which keeps to the protocol, must not be affected.

import { readFileSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { deserialize } from '../../../src/shared/values/decode.ts';
import { serialize } from '../../../src/shared/values/encode.ts';
import { MemoryMedium } from '../../../worker/engine/file/medium.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { createObjects } from '../../../worker/start/entries/in-process.ts';
import { Random } from '../../testing/simulate/world/random.ts';
import { settled } from '../app/followed.ts';
import { followedServer } from '../testing/followed-server.ts';
import { MIXED_METHODS, mixedClass } from '../testing/mixed-class.ts';
import { follow } from './follow.ts';
import type { LinkSocket } from './link.ts';

const wasm = new Uint8Array(
  readFileSync(new URL('../../../worker/engine/vfs/sqlite3.wasm', import.meta.url)),
);
const Base = DurableObject as never;

const NUMBERS = [0, 1, 2, 3, 64, 65, 2 ** 31, 2 ** 53 - 1, 2 ** 53, -1, 0.5, Number.NaN, Infinity];
const ODD = [
  null,
  undefined,
  true,
  '',
  'x'.repeat(300),
  [],
  {},
  1n,
  new Uint8Array(9),
  new Date(0),
];
const METHODS = [
  ...['add', 'log', 'dump', 'prepare', 'constructor', '__proto__', 'fetch', 'alarm', 'toString'],
  ...['webSocketMessage', 'ctx', 'then', 'missing'],
];
const NAMES = ['one', 'two', 'x'.repeat(64), 'x'.repeat(65), '__proto__', '\ud800', 'a b'];
const UINT32 = [0, 1, 7, 2 ** 32 - 1, 2 ** 32];

const RIGHT_HELLO = {
  ...{ kind: 'hello', protocol: { oldest: 2, newest: 2 }, client: 'one' },
  ...{ position: null, copy: null, ack: 0 },
};

/** Returns the mark of an unfinished snapshot, with forged or wrong fields. */
function copyMark(random: Random): unknown {
  const odd = () => random.pick<unknown>([...NUMBERS, ...ODD]);
  const table = random.pick<unknown>([
    'item',
    'log',
    '_follow_client',
    'sqlite_master',
    null,
    odd(),
  ]);
  const after = random.pick<unknown>([null, [], [1], ['x'], [1n, 2n], [new Uint8Array(3)], odd()]);
  const place = { table, after, sentBytes: random.pick<unknown>([0, 1e15, odd()]) };
  const position = { id: random.pick(NUMBERS), life: random.pick(NUMBERS) };
  return {
    from: random.pick<unknown>([{ id: 0, life: 0 }, position, odd()]),
    at: random.pick<unknown>([{ id: 0, life: 0 }, { id: 0, life: 0 }, position, odd()]),
    parts: random.pick<unknown>([1, 2, Number.MAX_SAFE_INTEGER, odd()]),
    next: random.pick<unknown>([place, place, null, odd()]),
  };
}

/** Returns a random message that no correct follower would send. */
function message(random: Random): Uint8Array {
  const odd = () => random.pick<unknown>([...NUMBERS, ...ODD]);
  const some = <T>(right: readonly T[]) => (random.onceIn(6) ? odd() : random.pick(right));
  const hello = {
    kind: 'hello',
    protocol: random.onceIn(4) ? odd() : { oldest: some([2, 1, 0]), newest: some([2, 2, 99, 1]) },
    client: some(NAMES),
    position: random.onceIn(3) ? odd() : { id: some(NUMBERS), life: some(NUMBERS) },
    copy: random.onceIn(3) ? null : copyMark(random),
    ack: some([0, 1, 2]),
  };
  const receipt = some(UINT32);
  const next = { kind: 'next', copy: copyMark(random), receipt: random.onceIn(2) ? null : receipt };
  const ack = { kind: 'ack', ack: some([0, 1, 2]), receipt };
  const forged = ['forged', random.pick(NAMES)];
  const call = {
    kind: 'call',
    n: some([1, 2, 3, 4, 70]),
    mark: some(UINT32),
    method: some(METHODS),
    args: random.onceIn(6) ? odd() : serialize(random.onceIn(4) ? odd() : forged),
    again: some([true, false]),
    ack: some([0, 0, 1]),
  };
  const bytes = serialize(
    random.pick<unknown>([hello, hello, call, call, call, next, ack, odd(), { kind: odd() }]),
  );
  if (random.onceIn(8)) bytes[random.below(bytes.length)] = random.below(256);
  return random.onceIn(12) ? bytes.subarray(0, random.below(bytes.length)) : bytes;
}

test.for([1, 2, 3])(
  '[FOLP15] hostile followers neither end the object nor disturb others: seed %i',
  { tags: 'long' },
  async (seed) => {
    const random = new Random(seed);
    const Mixed = mixedClass(Base);
    const methods = MIXED_METHODS.filter((name) => name !== 'empty' && name !== 'log');
    let clients = 0;
    const server = await followedServer(Mixed as never, {
      methods,
      authorize: () => (clients++ === 0 ? 'friend' : 'stranger'),
    });
    const options = { url: () => 'ws://server/', connect: () => server.connect() };
    const { env, close } = await createObjects(
      { Mixed: Mixed as never },
      { medium: new MemoryMedium(), wasm, follow: follow({ Mixed: options }) },
    );
    const { Mixed: room } = env as unknown as {
      Mixed: { getByName(name: string): Record<string, (...args: unknown[]) => Promise<unknown>> };
    };
    const friend = room.getByName('a');
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    try {
      await settled(friend.add!('first', 'a'));
      for (let round = 0; round < 25; round++) {
        const stranger: LinkSocket = server.connect();
        await new Promise((resolve) => stranger.addEventListener('open', resolve));
        // Without a right hello, the server reads nothing more than the first message.
        if (random.onceIn(2)) stranger.send(serialize(RIGHT_HELLO));
        for (let i = 0; i < 12 && stranger.readyState === 1; i++) {
          if (random.onceIn(15)) stranger.send('noise');
          else stranger.send(message(random));
          if (random.onceIn(3)) await turn();
        }
        const call = friend.add!(`friend ${round}`, 'b');
        expect(await settled(call)).toBe(`friend ${round}`);
        if (random.onceIn(2)) stranger.close();
      }
      const theirs = (await server.call('dump')) as { done: string[]; schema: string[] };
      const done = theirs.done.map((row) => JSON.parse(row)[1] as string);
      expect(done.filter((id) => id.startsWith('friend'))).toHaveLength(25);
      // A stranger may call the methods that are listed, and no others.
      expect(done.filter((id) => !/^(first|friend \d+|forged)$/.test(id))).toEqual([]);
      await vi.waitFor(async () => expect(await friend.dump!()).toEqual(theirs));
    } finally {
      await close();
      await server.close();
    }
  },
);

test('[FOLW18] a follower that does not read keeps no notes; when it reads, it gets a snapshot', async () => {
  class Pages extends (DurableObject as never as new (...args: never[]) => { ctx: never }) {
    fill(bytes: number) {
      const { sql } = (this.ctx as { storage: { sql: { exec(text: string, n?: number): void } } })
        .storage;
      sql.exec('CREATE TABLE IF NOT EXISTS page (x)');
      sql.exec('INSERT INTO page VALUES (randomblob(?))', bytes);
    }
    notes() {
      const { sql } = (
        this.ctx as { storage: { sql: { exec(text: string): { one(): { n: number } } } } }
      ).storage;
      return sql.exec('SELECT count(*) AS n FROM _follow_note').one().n;
    }
  }
  const server = await followedServer(Pages as never, { methods: ['fill'] }, { notesMax: 20 });
  try {
    const socket = server.connect();
    const messages: { kind: string; receipt?: number | null }[] = [];
    socket.addEventListener('message', (event) => {
      const { data } = event as MessageEvent<ArrayBuffer>;
      messages.push(deserialize(new Uint8Array(data)) as never);
    });
    const until = (kind: string) =>
      vi.waitFor(() => expect(messages.map((message) => message.kind)).toContain(kind));
    await new Promise((resolve) => socket.addEventListener('open', resolve));
    const hello = { kind: 'hello', protocol: { oldest: 2, newest: 2 }, client: 'deaf', ack: 0 };
    socket.send(serialize({ ...hello, position: null, copy: null }));
    await until('cut');
    await server.call('fill', 1_100_000);
    await vi.waitFor(() => expect(messages.at(-1)?.receipt).toEqual(expect.any(Number)));
    const { receipt } = messages.at(-1)!;
    messages.length = 0;
    for (let i = 0; i < 60; i++) await server.call('fill', 10);
    expect(messages).toEqual([]);
    expect(await server.call('notes')).toBeLessThan(40);
    socket.send(serialize({ kind: 'ack', ack: 0, receipt }));
    await until('part');
    expect(socket.readyState).toBe(1);
  } finally {
    await server.close();
  }
});
