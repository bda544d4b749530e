// Tests the durable list of objects whose calls wait for the server.

import { expect, test } from 'vitest';
import { createTestHost } from '../../testing/worker/test-host.ts';
import { worldOf } from '../testing/followed-device.ts';
import { WaitingObjects } from './waiting-objects.ts';

test('[FOLP19] the list of waiting objects is there for the next worker', async () => {
  const world = worldOf();
  const first = await createTestHost({}, {}, undefined, world);
  const list = new WaitingObjects(first.host);
  expect(await list.list()).toEqual([]);
  await list.delete({ className: 'Room', name: 'a' });
  expect(await list.list()).toEqual([]);
  const [a, b, other] = [
    { className: 'Room', name: 'a' },
    { className: 'Room', name: 'b' },
    { className: 'Other', name: 'a' },
  ];
  for (const object of [a, b, other, a]) await list.add(object);
  await first.close();

  const second = await createTestHost({}, {}, undefined, world);
  const next = new WaitingObjects(second.host);
  expect(await next.list()).toEqual([other, a, b]);
  await next.delete(a);
  expect(await next.list()).toEqual([other, b]);
  for (const object of [other, b]) await next.delete(object);
  expect(await next.list()).toEqual([]);
  await second.close();
});
