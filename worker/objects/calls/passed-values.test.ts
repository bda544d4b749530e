// Tests calls with arguments that would hold their receiver for seconds: from pages, code of other objects, and live reads.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { serialize } from '../../../src/shared/values/encode.ts';
import { createObjects, DurableObject, live, RpcTarget } from '../../start/entries/node-objects.ts';
import { SocketPages } from '../../start/entries/socket-pages.ts';

let ran: string[];

class Room extends DurableObject {
  echo(value: unknown): unknown {
    ran.push('echo');
    return value;
  }
  count(value: unknown): number {
    ran.push('count');
    return (value as { length: number }).length;
  }
  target(): RpcTarget {
    return new Target();
  }
  ids(): Set<number> {
    return new Set(Array.from({ length: 20_000 }, (_, i) => i * 1_000_003));
  }
}

class Target extends RpcTarget {
  echo(value: unknown): unknown {
    ran.push('target');
    return value;
  }
}

type Stub = {
  echo(value: unknown): Promise<unknown>;
  count(value: unknown): Promise<number>;
  target(): Promise<{ echo(value: unknown): Promise<unknown> }>;
  ids(): Promise<Set<number>>;
};

let objects: Awaited<ReturnType<typeof createObjects>>;
let room: Stub;
beforeEach(async () => {
  ran = [];
  objects = await createObjects({ Room: Room as never });
  room = (objects.env as never as { Room: { getByName(name: string): Stub } }).Room.getByName('a');
});
afterEach(() => objects.close());

const doubled = (levels: number) => {
  let value: unknown = ['a'];
  for (let i = 0; i < levels; i++) value = [value, value];
  return value;
};
const HOLDING: readonly [string, unknown][] = [
  ['shared references', doubled(40)],
  // V8 gives bigints with equal low digits one hash.
  [
    'a Set with equal hashes',
    [new Set(Array.from({ length: 9000 }, (_, i) => BigInt(i + 1) << 128n)), 'x'.repeat(131_072)],
  ],
];
const refused = { code: 'INVALID_ARGUMENT' };

test.for(HOLDING)(
  '[STUB51] arguments with %s are INVALID_ARGUMENT, and run no method',
  async ([, value]) => {
    await expect(room.echo(value)).rejects.toMatchObject(refused);
    const target = await room.target();
    await expect(target.echo(value)).rejects.toMatchObject(refused);
    const reads = live(room as never) as unknown as {
      count(value: unknown): { subscribe(next: () => void, options: { onError: Function }): void };
    };
    const error = new Promise((onError) => reads.count(value).subscribe(() => {}, { onError }));
    expect(await error).toMatchObject(refused);
    expect(ran).toEqual([]);
  },
);

test('[STUB51] arguments may contain themselves, and share objects; results may have any keys', async () => {
  const cyclic: unknown[] = [];
  cyclic.push(cyclic, doubled(10));
  expect(await room.echo(cyclic)).toEqual(cyclic);
  expect((await room.ids()).size).toBe(20_000);
});

test.for(HOLDING)('[DEV8] a message with %s loses the socket of its page', ([, value]) => {
  let isClosed = false;
  const page = new SocketPages(objects as never).serve({
    send: () => {},
    close: () => {
      isClosed = true;
    },
  });
  page.message(serialize({ type: 'other', value }));
  expect(isClosed).toBe(true);
});
