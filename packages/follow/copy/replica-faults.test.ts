// Tests a replica whose server, connection or files fail or send something wrong.

import { describe, expect, test } from 'vitest';
import { idOfStorage } from '../../../src/shared/contract/object-id.ts';
import { serialize } from '../../../src/shared/values/encode.ts';
import { encodeChanges } from '../changes/changes-bytes.ts';
import type { MessageToFollower } from '../protocol/messages.ts';
import { endsOfTests } from '../testing/ends.ts';
import { turns, until } from '../testing/followed-device.ts';
import type { FollowedServer } from '../testing/followed-server.ts';
import { connect, deviceOf, isCurrent, namesIn, serverOf } from '../testing/replica-device.ts';
import type { ConnectionEvents, Replica } from './replica.ts';

const ends = endsOfTests();

const CHANGES = { isWiped: false, schema: null, sequences: null, kv: [], kvGone: [] };
const TABLE = { name: 'item', keys: ['id'], columns: ['id', 'name'], isWhole: false, gone: [] };
const MISFITS = {
  'a row that takes the place of another one': encodeChanges({
    ...CHANGES,
    tables: [{ ...TABLE, rows: [[7n, 'first']] }],
  }),
  'a table that is not there': encodeChanges({
    ...CHANGES,
    tables: [{ ...TABLE, name: 'other', rows: [[7n, 'x']] }],
  }),
  'bytes that are no changes': new Uint8Array([1, 2, 3]),
};

/** Lets three parts of a snapshot arrive, and nothing after them. */
const firstParts = (message: MessageToFollower) =>
  message.kind === 'cut' || (message.kind === 'part' && message.copy.parts > 3) ? null : message;

/** Checks that the replica, which is not connected, connects and sends a call to the server. */
async function goesOn(server: FollowedServer, replica: Replica): Promise<void> {
  await replica.call('add', ['mine']);
  await connect(server, replica);
  await until(isCurrent(replica));
  expect(await server.call('names')).toEqual(['mine']);
}

describe('a replica', () => {
  test.for(Object.entries(MISFITS))(
    '[FOLP33] whose server sends %s ends, keeps its calls, and gets a whole copy next time',
    async ([, changes]) => {
      const server = await serverOf(ends);
      await server.call('add', 'first');
      const { open, ended, here } = await deviceOf(ends);
      let replica = await open();
      let isWrong = false;
      const first = await connect(server, replica, (message) =>
        isWrong && message.kind === 'cut' ? { ...message, changes } : message,
      );
      await until(isCurrent(replica));
      isWrong = true;
      await server.call('add', 'second');
      await until(() => ended.length > 0);
      expect(ended).toEqual([
        expect.objectContaining({ code: expect.stringMatching(/^(SQL|INVALID_ARGUMENT)$/) }),
      ]);
      expect(first.closes).toEqual(['the replica has ended']);
      await expect(replica.call('add', ['late'])).rejects.toBe(ended[0]);
      await replica.close();
      await expect(replica.call('add', ['later'])).rejects.toBe(ended[0]);
      // The copy is unchanged.
      const select = 'SELECT name FROM item';
      expect(
        await here.host.deliver(here.address('a'), ({ storage }) => [
          ...storage.exec(select, []).raw(),
        ]),
      ).toEqual([['first']]);

      replica = await open();
      expect(await namesIn(replica)).toEqual(['first']);
      await replica.call('add', ['mine']);
      const again = await connect(server, replica);
      expect(again.hello).toMatchObject({ position: null, copy: null, ack: 0 });
      await until(isCurrent(replica));
      expect(again.received.map(({ kind }) => kind).slice(0, 3)).toEqual([
        'welcome',
        'part',
        'cut',
      ]);
      expect(await namesIn(replica)).toEqual(['first', 'second', 'mine']);
      expect(ended).toHaveLength(1);
      await replica.close();
    },
  );

  test('[FOLP31] that has applied a snapshot stores neither its parts nor its progress', async () => {
    const server = await serverOf(ends, { partBytes: 100 });
    for (let i = 0; i < 6; i++) await server.call('add', `${i} `.repeat(40));
    const { open, medium, base } = await deviceOf(ends);
    const partsKey = idOfStorage(`_follow/${base}.parts`).toString();
    let replica = await open();
    const first = await connect(server, replica, firstParts);
    await until(() => first.received.length === 4); // welcome, and three parts
    await turns();
    expect(await medium.keys()).toContain(partsKey);
    server.drop();
    await connect(server, replica);
    await until(isCurrent(replica));
    expect(await medium.keys()).not.toContain(partsKey);
    await replica.close();
    server.drop();

    replica = await open();
    const again = await connect(server, replica);
    expect(again.hello.copy).toBeNull();
    await replica.close();
  });

  test('[FOLP31] whose parts are fewer than it has counted begins again with the first', async () => {
    const server = await serverOf(ends, { partBytes: 100 });
    for (let i = 0; i < 6; i++) await server.call('add', `${i} `.repeat(40));
    const { open, ended, here, base } = await deviceOf(ends);
    let replica = await open();
    const first = await connect(server, replica, firstParts);
    await until(() => first.received.length === 4); // The replica has received the welcome and three parts.
    await replica.close();
    server.drop();
    await here.host.erase({ className: null, id: idOfStorage(`_follow/${base}.parts`) });

    replica = await open();
    const second = await connect(server, replica);
    expect(second.hello.copy).toMatchObject({ parts: 3 });
    await until(() => ended.length > 0);
    expect(ended).toEqual([expect.objectContaining({ code: 'INVALID_ARGUMENT' })]);

    replica = await open();
    const third = await connect(server, replica);
    expect(third.hello).toMatchObject({ position: null, copy: null });
    await until(isCurrent(replica));
    expect(await namesIn(replica)).toEqual(await server.call('names'));
    await replica.close();
  });

  test('[FOLP31] whose disk fails when a snapshot begins again has none of the parts before it', async () => {
    const server = await serverOf(ends, { partBytes: 100 });
    for (let i = 0; i < 6; i++) await server.call('add', `${i} `.repeat(40));
    const { open, ended, medium, base } = await deviceOf(ends);
    const partsKey = idOfStorage(`_follow/${base}.parts`).toString();
    let replica = await open();
    const first = await connect(server, replica, firstParts);
    await until(() => first.received.length === 4); // welcome, and three parts
    await turns();
    expect(replica.isUnused).toBe(false);
    await replica.close();
    server.drop();
    await server.call('index'); // A changed schema makes the snapshot begin with its first part.

    replica = await open();
    medium.fails = (key) => key === partsKey;
    const second = await connect(server, replica);
    expect(second.hello.copy).toMatchObject({ parts: 3 });
    await until(() => ended.length > 0);
    medium.fails = () => false;
    server.drop();

    replica = await open();
    const third = await connect(server, replica);
    expect(third.hello.copy).toBeNull();
    await until(isCurrent(replica));
    expect(await namesIn(replica)).toEqual(await server.call('names'));
    expect(ended).toEqual([expect.objectContaining({ code: 'IO' })]);
    await turns();
    expect(replica.isUnused).toBe(true);
    const reading = namesIn(replica);
    expect(replica.isUnused).toBe(false);
    await reading;
    await replica.close();
  });

  test('[FOLP13] whose disk fails goes on from its files, without a whole copy', async () => {
    const server = await serverOf(ends);
    const { open, ended, medium, base } = await deviceOf(ends);
    let replica = await open();
    await connect(server, replica);
    await server.call('add', 'first');
    await until(async () => ((await namesIn(replica)) as string[]).length === 1);
    medium.fails = (key) => key === base;
    await server.call('add', 'second');
    await until(() => ended.length > 0);
    expect(ended).toEqual([expect.objectContaining({ code: 'IO' })]);
    medium.fails = () => false;
    server.drop();

    replica = await open();
    const again = await connect(server, replica);
    expect(again.hello.position).not.toBeNull();
    await until(isCurrent(replica));
    expect(again.received.map(({ kind }) => kind)).not.toContain('part');
    expect(await namesIn(replica)).toEqual(['first', 'second']);
    await replica.close();
  });

  test('[FOLW11] a damaged message ends its connection, and nothing else', async () => {
    const server = await serverOf(ends);
    const { open, ended } = await deviceOf(ends);
    const replica = await open();
    for (const [wrong, reason] of [
      [serialize({ kind: 'cut' }), /INVALID_ARGUMENT|cut|last|onto/],
      [new Uint8Array([255, 15, 9, 9]), /./],
    ] as const) {
      const connection = await connect(server, replica);
      await until(isCurrent(replica));
      connection.end.received(wrong);
      await until(() => replica.state.state === 'offline');
      expect(connection.closes).toEqual([expect.stringMatching(reason)]);
      // Messages that arrive afterwards are ignored.
      connection.end.received(wrong);
      connection.end.received(serialize({ kind: 'welcome', protocol: 1, version: 1 }));
      expect(await namesIn(replica)).toEqual([]);
    }
    await goesOn(server, replica);
    expect(ended).toEqual([]);
    await replica.close();
  });

  test('[FOLP21] a message out of order closes its connection with the reason, and the next one goes on', async () => {
    const server = await serverOf(ends);
    const { open, ended } = await deviceOf(ends);
    const replica = await open();
    const connection = await connect(server, replica);
    await until(isCurrent(replica));
    connection.end.received(
      serialize({ kind: 'welcome', protocol: 1, version: 1, received: { n: 0, mark: null } }),
    );
    await until(() => replica.state.state === 'offline');
    expect(connection.closes).toEqual(['"welcome" is not expected while current']);
    await goesOn(server, replica);
    expect(ended).toEqual([]);
    await replica.close();
  });

  test('[FOLW8] a connection that was replaced neither ends nor disturbs the next one', async () => {
    const server = await serverOf(ends);
    const { open, outcomes } = await deviceOf(ends);
    const replica = await open();
    const first = await connect(server, replica);
    await until(isCurrent(replica));
    const second = await connect(server, replica);
    await until(() => second.received.length > 1);
    first.end.received(new Uint8Array([255, 15, 9, 9]));
    first.end.received(serialize({ kind: 'welcome', protocol: 1, version: 1 }));
    first.end.closed(true);
    expect((await replica.call('add', ['mine'])).n).toBe(1);
    await until(() => outcomes.has(1));
    expect([first.closes, second.closes]).toEqual([[], []]);
    expect([first.calls, second.calls]).toEqual([[], [1]]);
    expect(replica.state.state).toBe('current');
    await replica.close();
  });

  test('[FOLW12] with a server of another version nothing is forecast, and calls are sent', async () => {
    const server = await serverOf(ends, {}, 2);
    const { open, outcomes } = await deviceOf(ends);
    const replica = await open();
    expect((await replica.call('add', ['early'])).answer).toEqual({ kind: 'value', value: 1 });
    let answers = false;
    await connect(server, replica, (message) =>
      !answers && (message.kind === 'cut' || message.kind === 'ended') && message.last > 0
        ? null
        : message,
    );
    await until(() => replica.state.state === 'outdated');
    expect(replica.state.reason).toBe('OTHER_VERSION');
    expect(await namesIn(replica)).toEqual([]);
    const call = await replica.call('add', ['mine']);
    expect(call).toEqual({ n: 2, answer: null });
    expect(await namesIn(replica)).toEqual([]);
    await replica.call('add', ['more']);
    expect(await namesIn(replica)).toEqual([]);
    expect(replica.state.pending).toBe(3);
    answers = true;
    server.drop();
    await until(() => replica.state.state === 'offline');
    expect(replica.state.reason).toBe('OTHER_VERSION');
    await connect(server, replica);
    await until(() => replica.state.state === 'outdated');
    expect(outcomes.get(2)).toEqual({ kind: 'value', value: 2 });
    expect(await namesIn(replica)).toEqual(['early', 'mine', 'more']);
    await replica.close();
  });

  test('[FOLP23] a copy is offline until the server has answered it, and tells when it was last heard of', async () => {
    const server = await serverOf(ends);
    const { open } = await deviceOf(ends);
    const replica = await open();
    const unanswered = await connect(server, replica, () => null);
    await turns();
    expect(replica.state).toMatchObject({ state: 'offline', reason: null, lastSyncAtMs: null });
    unanswered.end.closed();
    await connect(server, replica);
    await until(isCurrent(replica));
    const { lastSyncAtMs } = replica.state;
    expect(lastSyncAtMs).toBe(1);
    server.drop();
    await until(() => replica.state.state === 'offline');
    expect(replica.state.lastSyncAtMs).toBe(1);
    // Without a change, the server's message is `ended`.
    await connect(server, replica);
    await until(isCurrent(replica));
    expect(replica.state.lastSyncAtMs).toBe(2);
    await replica.close();
  });

  test('[FOLP18] of very many answers that arrive together, some are shown before the last', async () => {
    const server = await serverOf(ends);
    const { open } = await deviceOf(ends);
    const shown: (number | null)[] = [];
    const replica = await open({ onChange: () => void shown.push(replica.state.lastSyncAtMs) });
    const held: (() => void)[] = [];
    let end: ConnectionEvents | undefined;
    const socket = server.connect();
    socket.addEventListener('open', () => {
      end = replica.connected({ send: (bytes) => socket.send(bytes), close: () => socket.close() });
    });
    let isHeld = false;
    socket.addEventListener('message', (event) => {
      const bytes = new Uint8Array((event as MessageEvent<ArrayBuffer>).data);
      const hand = () => end!.received(bytes);
      if (isHeld) held.push(hand);
      else hand();
    });
    await until(isCurrent(replica));
    await turns();
    isHeld = true;
    const count = 150;
    for (let i = 0; i < count; i++) await server.call('add', `theirs ${i}`);
    await until(() => held.length === count);
    const before = replica.state.lastSyncAtMs ?? 0;
    shown.splice(0);
    for (const hand of held.splice(0)) hand();
    expect(await namesIn(replica)).toHaveLength(count);
    // `now` counts the messages, so each difference tells how many of them are shown.
    expect(shown.map((at) => at! - before)).toEqual([64, 128, 150]);
    await replica.close();
  });

  test('[FOLP20] a closed replica has closed its connection, tells nothing more, and keeps no object open', async () => {
    const server = await serverOf(ends);
    const { open, ended, here } = await deviceOf(ends);
    let changes = 0;
    const replica = await open({ onChange: () => void changes++ });
    const connection = await connect(server, replica);
    await until(isCurrent(replica));
    await replica.call('add', ['mine']);
    await replica.close();
    const before = changes;
    expect(connection.closes).toEqual(['the replica has ended']);
    connection.end.received(serialize({ kind: 'welcome', protocol: 1, version: 1 }));
    connection.end.closed();
    const closed = { code: 'CONNECTION_CLOSED' };
    await expect(replica.call('add', ['late'])).rejects.toMatchObject(closed);
    await expect(replica.forecast()).rejects.toMatchObject(closed);
    await expect(replica.dismiss(1)).rejects.toMatchObject(closed);
    expect(ended).toEqual([]);
    expect(changes).toBe(before);
    await here.advance(60_000);
    expect(here.host.instances.running()).toEqual([]);
  });

  test('[FOLP13] a replica that cannot be opened keeps no object open', async () => {
    const { open, here, base } = await deviceOf(ends);
    const replica = await open();
    await replica.call('add', ['mine']);
    await replica.close();
    const queue = { className: null, id: idOfStorage(`_follow/${base}`) };
    const change = (text: string) =>
      here.host.deliver(queue, ({ storage }) => void storage.exec(text, []));
    await change('CREATE TABLE hidden AS SELECT args FROM call');
    await change("UPDATE call SET args = x'ff00'");
    await expect(open()).rejects.toThrow();
    await here.advance(60_000);
    expect(here.host.instances.running()).toEqual([]);
    await change('UPDATE call SET args = (SELECT args FROM hidden)');
    const again = await open();
    expect(await namesIn(again)).toEqual(['mine']);
    await again.close();
  });
});
