// Tests followers of an object in a process that is like a thread of a browser: nothing shows which task an `await`
// continues, so a task is recognised by its turn. Node's async hooks are hidden from the modules.

import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test, vi } from 'vitest';
import { FollowClient, type FollowRoom } from './client.ts';

test('[FOLS1] an object is followed in a process without async hooks', {
  tags: 'long',
}, async () => {
  vi.resetModules();
  const hidden = vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never);
  onTestFinished(() => {
    hidden.mockRestore();
    vi.resetModules();
  });
  const { DurableObject } = await import('../../../worker/realm/library/library.ts');
  const { createObjects } = await import('../../../worker/start/entries/in-process.ts');
  const { followedRoom } = await import('./followed-room.ts');
  const wasm = readFileSync(new URL('../../../worker/engine/vfs/sqlite3.wasm', import.meta.url));
  const { env, close } = await createObjects(
    { Room: followedRoom(DurableObject as never) },
    { wasm: new Uint8Array(wasm) },
  );
  onTestFinished(() => close());
  const stub = env.Room.getByName('a');
  const room: FollowRoom = {
    fetch: (headers) => stub.fetch('https://room/', { headers }),
    call: async (method, ...args) =>
      (stub as unknown as Record<string, Function>)[method]!(...args),
  };
  const client = await (await FollowClient.connect(room, 'A')).hello();
  client.call(1, 'addSlowly', ['slow']);
  await client.untilItems('slow 1');
  await room.call('add', 'between');
  await room.call('go');
  client.call(2, 'addTwice', ['twice']);
  expect(await client.outcome(2)).toEqual({ kind: 'value', value: 5 });
  client.call(3, 'undo', ['never']);
  expect(await client.outcome(3)).toEqual({ kind: 'value', value: 'undone' });
  expect(client.items).toEqual(['slow 1', 'between', 'slow 2', 'twice 1', 'twice 2']);
});
