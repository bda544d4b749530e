// Tests the objects of a host that follow: the checks of the option `follow`, the objects that follow, and how many are open.

import { afterEach, describe, expect, test, vi } from 'vitest';
import { addressKey, branchAddress, facetAddress } from '../../../src/shared/contract/object-id.ts';
import { completeLimits } from '../../../worker/engine/sql/query-limits.ts';
import { createTestHost } from '../../testing/worker/test-host.ts';
import { endsOfTests } from '../testing/ends.ts';
import {
  type Device,
  type DeviceOptions,
  deviceOf,
  namesOf,
  settledOf,
  stateOf,
  turns,
  unreachable,
  until,
  worldOf,
} from '../testing/followed-device.ts';
import { followedServer } from '../testing/followed-server.ts';
import { ItemRoom } from '../testing/item-room.ts';
import { type FollowTable, follow } from './follow.ts';
import type { LinkSocket } from './link.ts';
import type { WaitingObject } from './waiting-objects.ts';
import { WaitingObjects } from './waiting-objects.ts';

class Room extends ItemRoom {}

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});
const ends = endsOfTests();

async function device(
  connect: (name: string) => LinkSocket,
  options: DeviceOptions = {},
): Promise<Device> {
  const made = await deviceOf(Room, connect, options);
  ends.push(() => made.close());
  return made;
}

async function serverOf() {
  const server = await followedServer(Room, { methods: ['add', 'names'] });
  ends.push(() => server.close());
  return server;
}

const url = () => 'ws://server/a';

describe('the option follow', () => {
  test.for<[string, unknown, string]>([
    ['no address', {}, 'url is a function that gives the address of an object by its name'],
    ['a text', 'ws://server/', 'url is a function that gives the address of an object by its name'],
    ['a part of a version', { url, version: 1.5 }, 'version is a whole number, not negative'],
    ['a version below 0', { url, version: -1 }, 'version is a whole number, not negative'],
    ['a version as a text', { url, version: '1' }, 'version is a whole number, not negative'],
    [
      'something that does not connect',
      { url, connect: 'x' },
      'connect is a function that opens a WebSocket',
    ],
  ])('[FOLP3] refuses %s, with the name of the class', ([, given, reason]) => {
    const right = { url, connect: unreachable };
    const wrong = { Right: right, Room: given } as unknown as FollowTable;
    expect(() => follow(wrong)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message: `follow: Room: ${reason}.` }),
    );
  });

  test('[FOLP3] takes a function as the address, and 0 as a version', async () => {
    vi.stubGlobal('WebSocket', class {}); // Node 20 has no WebSocket.
    expect(() => follow({ Room: url, Other: { url, version: 0 } })).not.toThrow();
    const used = await device(unreachable);
    expect([...used.followers.classNames]).toEqual(['Room']);
  });

  test('[FOLP3] opens the WebSocket of the platform, with the subprotocol of followers', async () => {
    const opened: unknown[][] = [];
    vi.stubGlobal(
      'WebSocket',
      class extends EventTarget {
        constructor(...args: unknown[]) {
          super();
          opened.push(args);
        }
        readyState = 0;
        close() {}
      },
    );
    const used = await device(unreachable, {
      connect: undefined as never,
      url: async (name) => new URL(`wss://server/${name}?token=1`),
    });
    await used.room('a b').call('names', []);
    await until(() => opened.length > 0);
    expect(opened).toEqual([['wss://server/a%20b?token=1', 'ctx-storage-follow']]);
  });

  test('[FOLP3] asks for connect at once where there is no WebSocket', () => {
    vi.stubGlobal('WebSocket', undefined);
    expect(() => follow({ Room: url })).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message:
          'follow: Room: this runtime has no WebSocket; pass { connect: (url, protocol) => new WebSocket(url, protocol) } with that of ws.',
      }),
    );
    expect(() => follow({ Room: { url, connect: unreachable } })).not.toThrow();
  });

  test('[FOLP3] an object of the class follows itself, its branches and facets do not', async () => {
    const { followers, here } = await device(unreachable);
    const address = here.address('a');
    const found = followers.find(address);
    expect(found).toBeDefined();
    expect(followers.find(here.address('a'))).toBe(found);
    expect(followers.find(here.address('b'))).not.toBe(found);
    for (const other of [
      branchAddress(address, 'b'),
      facetAddress(address, 'f'),
      { ...address, className: null },
      { ...address, className: 'Other' },
    ]) {
      expect(followers.find(other)).toBeUndefined();
    }
  });

  test('[FOLP29] a copy connects at once when the network is back, until the host is closed', async () => {
    const network = new EventTarget();
    vi.stubGlobal('addEventListener', network.addEventListener.bind(network));
    vi.stubGlobal('removeEventListener', network.removeEventListener.bind(network));
    const server = await serverOf();
    server.isDown = true;
    const used = await device(() => server.connect());
    used.room('not open');
    for (const name of ['a', 'b']) await used.room(name).call('names', []);
    await until(() => used.connects() === 2);
    await turns();
    network.dispatchEvent(new Event('online'));
    await until(() => used.connects() === 4);
    await turns();
    await used.close();
    network.dispatchEvent(new Event('online'));
    await turns();
    expect(used.connects()).toBe(4);
  });
});

describe('calls that an earlier worker has left', () => {
  async function listedIn(world: ReturnType<typeof worldOf>, ...objects: WaitingObject[]) {
    const host = await createTestHost({}, { Room }, undefined, world);
    const list = new WaitingObjects(host.host);
    for (const object of objects) await list.add(object);
    const listed = await list.list();
    await host.close();
    return listed;
  }

  test('[FOLP19] an object that was listed and has none is not opened, and leaves the list', async () => {
    const heard = vi.spyOn(console, 'error').mockImplementation(() => {});
    const world = worldOf();
    await listedIn(world, { className: 'Room', name: 'a' }, { className: 'Left', name: 'a' });
    const used = await device(unreachable, { world });
    await used.runTimers(2000);
    expect(used.connects()).toBe(0);
    await used.close();
    // The object of a class that does not follow here stays in the list, because the next release may follow again.
    expect(await listedIn(world)).toEqual([{ className: 'Left', name: 'a' }]);
    expect(heard.mock.calls).toEqual([]);
  });

  test('[FOLP19] a start without waiting calls logs nothing, and opens nothing', async () => {
    const heard = vi.spyOn(console, 'error').mockImplementation(() => {});
    const used = await device(unreachable);
    await used.runTimers(2000);
    expect([used.connects(), heard.mock.calls]).toEqual([0, []]);
  });

  test('[FOLP19] each object whose copy cannot be opened is logged, and delays no other', async () => {
    const heard = vi.spyOn(console, 'error').mockImplementation(() => {});
    const server = await serverOf();
    const world = worldOf();
    const first = await device(unreachable, { world });
    for (let i = 0; i < 10; i++) await first.room(`room ${i}`).call('add', [`${i}`]);
    await first.close();
    const inner = world.medium;
    const keyOf = (name: string) => `Room.${first.here.address(name).id}`;
    const broken = new Set(Array.from({ length: 8 }, (_, i) => keyOf(`room ${i}`)));
    const medium = {
      keys: () => inner.keys(),
      sizes: (key: string) => inner.sizes(key),
      remove: (key: string) => inner.remove(key),
      directory: async (key: string) => {
        if (broken.has(key)) throw new Error('The disk is broken.');
        return inner.directory(key);
      },
    };
    const second = await device(() => server.connect(), { world: { ...world, medium } });
    await second.runTimers(2000);
    await until(async () => ((await server.call('names')) as string[]).length === 2);
    for (const name of ['room 8', 'room 9']) await settledOf(second.room(name));
    const told = heard.mock.calls.map(([text]) => text as string);
    expect(told.filter((text) => text.startsWith('The calls of room')).toSorted()).toEqual(
      Array.from(
        { length: 8 },
        (_, i) => `The calls of room ${i} that wait for the server could not be sent:`,
      ),
    );
  });

  test('[FOLP19] an object is in the list while its calls wait, and leaves it when its copy is closed', async () => {
    const server = await serverOf();
    const world = worldOf();
    const first = await device(unreachable, { world });
    await first.room('a').call('add', ['mine']);
    await first.close();
    expect(await listedIn(world)).toEqual([{ className: 'Room', name: 'a' }]);
    const second = await device(() => server.connect(), { world });
    await second.runTimers(2000);
    await settledOf(second.room('a'));
    await second.runTimers(60_000);
    await second.runTimers(60_000);
    await second.close();
    expect(await listedIn(world)).toEqual([]);
  });

  test('[FOLP19] a list that cannot be read is logged', async () => {
    const heard = vi.spyOn(console, 'error').mockImplementation(() => {});
    const { medium: inner, catalog } = worldOf();
    const broken = new Error('The disk is broken.');
    const medium = {
      keys: () => inner.keys(),
      sizes: (key: string) => inner.sizes(key),
      remove: (key: string) => inner.remove(key),
      directory: async () => {
        throw broken;
      },
    };
    const used = await device(unreachable, { world: { medium, catalog } });
    await used.runTimers(2000);
    await until(() => heard.mock.calls.length > 0);
    expect(heard.mock.calls).toEqual([
      ['Calls that wait could not be looked for:', expect.any(Error)],
    ]);
  });

  test('[FOLP19] a host that is closed first looks for none', async () => {
    const heard = vi.spyOn(console, 'error').mockImplementation(() => {});
    const world = worldOf();
    const first = await device(unreachable, { world });
    await first.room('a').call('add', ['mine']);
    await first.close();
    const second = await device(unreachable, { world });
    await second.close();
    expect(second.delays()).toEqual([]);
    const third = await device(unreachable, { world });
    const passed = third.runTimers(2000); // The host is closed during the search.
    await third.close();
    await passed;
    expect(third.connects()).toBe(0);
    // A host that is closed while the calls wait for their server logs nothing either.
    const fourth = await device(unreachable, { world });
    await fourth.runTimers(2000);
    await until(() => fourth.connects() > 0);
    await turns();
    await fourth.close();
    await turns();
    expect(heard.mock.calls).toEqual([]);
  });
});

describe('copies that are open', () => {
  const limits = { ...completeLimits(), openFiles: 29 }; // Two replicas may be open.
  const openIn = async ({ here }: Device) => {
    await here.advance(60_000);
    const running = here.host.instances.running().map(addressKey);
    return ['a', 'b', 'c'].filter((name) => running.includes(addressKey(here.address(name))));
  };

  test('[FOLP22] are as many as there are files for: another copy takes the place of the least recently used', async () => {
    const used = await device(unreachable, { limits });
    const names = async (name: string) => {
      expect(await namesOf(used.room(name))).toEqual([]);
      await turns();
    };
    for (const name of ['a', 'b', 'a']) await names(name);
    expect(await openIn(used)).toEqual(['a', 'b']);
    await names('c');
    expect(await openIn(used)).toEqual(['a', 'c']);
    await names('b');
    expect(await openIn(used)).toEqual(['b', 'c']);
  });

  test('[FOLP22] give up one at a time when others need files, and none in use', async () => {
    const used = await device(unreachable);
    for (const name of ['a', 'b', 'c']) await namesOf(used.room(name));
    await turns();
    const { version } = await stateOf(used.room('a'));
    used
      .room('a')
      .ask({ kind: 'state', after: version })
      .catch(() => {});
    await turns();
    used.followers.makeRoom();
    used.followers.makeRoom();
    await turns();
    expect(await openIn(used)).toEqual(['a', 'c']);
    used.followers.makeRoom();
    await turns();
    expect(await openIn(used)).toEqual(['a']);
    used.followers.makeRoom();
    await turns();
    expect(await openIn(used)).toEqual(['a']);
  });

  test('[FOLP27] a restore and an import on the server reach a copy, whose later calls are run', async () => {
    const server = await serverOf();
    const used = await device(() => server.connect());
    const room = used.room('a');
    const add = async (name: string) => {
      await room.call('add', [name]);
      await settledOf(room);
    };
    const becomes = (names: string[]) =>
      until(async () => {
        await used.runTimers(100);
        return String(await namesOf(room)) === String(names);
      });
    await add('one');
    const storage = await server.storage();
    const bookmark = await storage.getCurrentBookmark();
    await add('two');
    await storage.restore(bookmark);
    await becomes(['one']);
    await add('three');

    const elsewhere = await createTestHost({}, { Room });
    ends.push(() => elsewhere.close());
    await elsewhere.run(({ storage }) => {
      storage.sql.exec("INSERT INTO item VALUES ('imported')");
    });
    await storage.importDatabase(await elsewhere.host.exportDatabase(elsewhere.address()));
    await becomes(['imported']);
    await add('last');
    expect(await server.call('names')).toEqual(['imported', 'last']);
    expect(await namesOf(room)).toEqual(['imported', 'last']);
  });

  test('[FOLP33] a copy that cannot be opened keeps no other from it', async () => {
    const world = worldOf();
    const before = await createTestHost({}, { Room }, undefined, world);
    await before.run(({ storage }) => storage.put('own', 'data'), 'a');
    await before.close();
    const used = await device(unreachable, { world });
    await expect(used.room('a').call('names', [])).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await namesOf(used.room('b'))).toEqual([]);
    await expect(used.room('a').call('names', [])).rejects.toMatchObject({ code: 'CONFLICT' });
    await used.here.host.erase(used.here.address('a'));
    expect(await namesOf(used.room('a'))).toEqual([]);
  });
});
