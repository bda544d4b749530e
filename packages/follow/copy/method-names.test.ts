// Tests calls of methods with odd names: the queue stores the name as text.

import { expect, test } from 'vitest';
import { endsOfTests } from '../testing/ends.ts';
import {
  deviceOf,
  namesOf,
  settledOf,
  stateOf,
  unreachable,
  worldOf,
} from '../testing/followed-device.ts';
import { followedServer } from '../testing/followed-server.ts';
import { ItemRoom } from '../testing/item-room.ts';

const WITH_NUL = 'add\0one';
const WITHOUT_UTF8 = 'add\ud800';

class Room extends ItemRoom {
  [WITH_NUL](name: string) {
    return this.add(name);
  }
  [WITHOUT_UTF8](name: string) {
    return this.add(name);
  }
}

const ends = endsOfTests();

test('[FOLP8] a call whose method has a name without UTF-8 is refused; one with NUL reaches the server after a restart', async () => {
  const world = worldOf();
  const offline = await deviceOf(Room, unreachable, { world });
  await expect(offline.room('a').call(WITHOUT_UTF8, ['lost'])).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
  });
  await offline.room('a').call(WITH_NUL, ['kept']);
  expect(await stateOf(offline.room('a'))).toMatchObject({ pending: 1 });
  expect(await namesOf(offline.room('a'))).toEqual(['kept']);
  await offline.close();

  const server = await followedServer(Room, { methods: [WITH_NUL] });
  ends.push(() => server.close());
  const device = await deviceOf(Room, () => server.connect(), { world });
  ends.push(() => device.close());
  await device.room('a').call('names', []);
  await settledOf(device.room('a'));
  expect(await server.call('names')).toEqual(['kept']);
  expect(await stateOf(device.room('a'))).toMatchObject({ refused: 0 });
});
