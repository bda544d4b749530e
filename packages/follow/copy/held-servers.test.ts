// Tests calls whose arguments would hold the server for seconds: followers by hand send them, and a device refuses them.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { deserialize } from '../../../src/shared/values/decode.ts';
import { serialize } from '../../../src/shared/values/encode.ts';
import { MemoryMedium } from '../../../worker/engine/file/medium.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { createObjects } from '../../../worker/start/entries/in-process.ts';
import { settled } from '../app/followed.ts';
import { endsOfTests } from '../testing/ends.ts';
import { followedServer } from '../testing/followed-server.ts';
import { follow } from './follow.ts';

const wasm = new Uint8Array(
  readFileSync(new URL('../../../worker/engine/vfs/sqlite3.wasm', import.meta.url)),
);
const ends = endsOfTests();

/** What `keep` was called with, on the server and on devices. */
let kept: unknown[] = [];

class Room extends (DurableObject as never as typeof import('cloudflare:workers').DurableObject) {
  keep(value: unknown): string {
    kept.push(value);
    (
      this.ctx as never as { storage: { kv: { put(key: string, value: string): void } } }
    ).storage.kv.put('kept', 'x');
    return 'kept';
  }
}

const doubled = (levels: number) => {
  let value: unknown = ['a'];
  for (let i = 0; i < levels; i++) value = [value, value];
  return value;
};
const cyclic: unknown[] = [];
cyclic.push(cyclic);
/** V8 gives bigints with equal low digits one hash. */
const colliding = new Set(Array.from({ length: 9000 }, (_, i) => BigInt(i + 1) << 128n));

const HOLDING: readonly [string, unknown][] = [
  ['shared references', doubled(40)],
  ['an array that contains itself', cyclic],
  ['a Set with equal hashes', [colliding, 'x'.repeat(131_072)]],
];

async function serverOf() {
  kept = [];
  const server = await followedServer(Room as never, { methods: ['keep'] });
  ends.push(() => server.close());
  return server;
}

test.for(HOLDING)(
  '[FOLS6] a call with %s is answered INVALID_ARGUMENT, and runs no method',
  async ([, value]) => {
    const server = await serverOf();
    const socket = server.connect();
    const messages: Record<string, unknown>[] = [];
    const answers = () => messages.flatMap(({ outcomes = [] }) => outcomes as [number, object][]);
    const answered = new Promise<void>((done) => {
      socket.addEventListener('message', ({ data }: Event & { data?: unknown }) => {
        messages.push(deserialize(new Uint8Array(data as ArrayBuffer)) as never);
        if (answers().length === 2) done();
      });
    });
    await new Promise((opened) => socket.addEventListener('open', opened));
    const hello = {
      protocol: { oldest: 1, newest: 9 },
      client: 'eve',
      position: null,
      copy: null,
      ack: 0,
    };
    const call = { kind: 'call', mark: 1, method: 'keep', again: false, ack: 0 };
    socket.send(serialize({ kind: 'hello', ...hello }));
    socket.send(serialize({ ...call, n: 1, args: serialize([value]) }));
    socket.send(serialize({ ...call, n: 2, args: serialize(['honest']) }));
    await answered;
    expect(answers()).toMatchObject([
      [1, { kind: 'error', error: { code: 'INVALID_ARGUMENT' } }],
      [2, { kind: 'value', value: 'kept' }],
    ]);
    expect(kept).toEqual(['honest']);
  },
);

test.for(HOLDING)('[FOLP8] a device refuses a call with %s at once', async ([, value]) => {
  const server = await serverOf();
  const options = { url: () => 'ws://server/', connect: () => server.connect() };
  const { env, close } = await createObjects(
    { Room: Room as never },
    { medium: new MemoryMedium(), wasm, follow: follow({ Room: options }) },
  );
  ends.push(close);
  type Stub = { keep(value: unknown): Promise<string> };
  const room = (env as never as { Room: { getByName(name: string): Stub } }).Room.getByName('a');
  await settled(room.keep('honest'));
  const before = kept.length;
  await expect(room.keep(value)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  expect(await settled(room.keep('later'))).toBe('kept');
  expect(kept.slice(before)).not.toContainEqual(value);
});
