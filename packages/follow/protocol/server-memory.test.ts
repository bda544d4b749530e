// Tests the server's side alone: the bytes that wait, are not acknowledged, or are not read, of one follower and of all.

import { describe, expect, test } from 'vitest';
import {
  answeredTo,
  at,
  begun,
  calls,
  changes,
  closes,
  cut,
  ends,
  greets,
  HEAD,
  served,
  serving,
  stored,
} from '../testing/server-steps.ts';
import type { FollowServerEffect, FollowServerEvent } from './server-events.ts';

describe('memory', () => {
  const MIB = 2 ** 20;
  const sized = (connection: number, n: number, bytes: number, ack = 0): FollowServerEvent => ({
    ...(calls(connection, n, false, ack) as Extract<FollowServerEvent, { kind: 'call' }>),
    bytes,
  });
  const sent = (connection: number, bytes: number, receipt: number | null): FollowServerEvent => ({
    ...{ kind: 'sent', messages: [{ connection, bytes, receipt }], head: HEAD },
  });
  const acks = (connection: number, receipt: number, ack = 0): FollowServerEvent => ({
    ...{ kind: 'ack', connection, message: { kind: 'ack', ack, receipt }, head: HEAD },
  });
  const endsWith = (client: string, bytes: number): FollowServerEvent => ({
    ...(ends(client) as Extract<FollowServerEvent, { kind: 'ended' }>),
    bytes,
  });
  const closed = (effects: readonly FollowServerEffect[]) =>
    effects.flatMap((one) => (one.kind === 'close' ? [`${one.connection} ${one.reason}`] : []));

  test('[FOLS24] a client whose unacknowledged outcomes have 1 MiB waits with its next call, and no other client', () => {
    const two = serving(greets(1, 'A'), greets(2, 'B'), calls(1, 1), calls(1, 2));
    expect(begun(served(two.state, endsWith('A', MIB - 1)).effects)).toEqual(['A2']);
    const full = served(two.state, endsWith('A', MIB));
    expect(begun(full.effects)).toEqual([]);
    expect(begun(served(full.state, calls(1, 3)).effects)).toEqual([]);
    expect(begun(served(full.state, calls(2, 1)).effects)).toEqual(['B1']);
    const free = served(full.state, acks(1, 0, 1));
    expect(begun(free.effects)).toEqual(['A2']);
    // The wait outlives a new connection, whose hello acknowledges nothing.
    const back = served(full.state, closes(1), greets(3, 'A'));
    expect(begun(back.effects)).toEqual([]);
    expect(begun(served(back.state, acks(3, 0, 1)).effects)).toEqual(['A2']);
  });

  test('[FOLS24] calls of a client that wait with more bytes than a follower may send close its connection', () => {
    const { state } = serving(greets(1, 'A'), calls(1, 1), sized(1, 2, MIB), sized(1, 3, MIB));
    expect(closed(served(state, sized(1, 4, MIB)).effects)).toEqual(['1 TOO_MANY_CALLS']);
    // The calls that were taken still run.
    const { state: after } = served(state, sized(1, 4, MIB));
    expect(begun(served(after, ends('A')).effects)).toEqual(['A2']);
  });

  test('[FOLS24] beyond 16 MiB of waiting calls, the client with most of them loses its own, and sends them again', () => {
    const names = [...'abcdefghijkl'];
    const greetings = names.map((client, i) => greets(i + 1, client));
    let { state } = serving(greets(99, 'z'), calls(99, 1, true), ...greetings);
    const others = names.slice(1).map((_, i) => sized(i + 2, 1, 1_300_000));
    ({ state } = served(state, ...others, sized(1, 1, 1_000_000), sized(1, 2, 800_000)));
    const over = served(state, sized(2, 2, 700_000));
    expect(closed(over.effects)).toEqual(['2 TOO_MANY_CALLS']);
    expect(over.state.waitingBytes).toBeLessThan(16 * MIB);
    const again = served(over.state, greets(50, 'b'), sized(50, 1, 100));
    expect(closed(again.effects)).toEqual([]);
    // All calls run in the end, those of the closed client too.
    const order: string[] = [];
    let next = served(again.state, stored('z')).state;
    for (let client = 'z', i = 0; i < 20; i++) {
      const step = served(next, ends(client));
      next = step.state;
      const [first] = begun(step.effects);
      if (first === undefined) break;
      order.push(first);
      client = first.slice(0, -1);
    }
    expect(order.sort()).toEqual([...names.map((name) => `${name}1`), 'a2'].sort());
    expect(next.waitingBytes).toBe(0);
  });

  test('[FOLW18] a follower that has not read 1 MiB is sent nothing more, and everything after its receipt', () => {
    const { state } = serving(greets(1, 'A'), greets(2, 'B'), sent(1, MIB - 1, 5));
    expect(served(state, changes(at(6))).effects).toEqual([
      cut(1, 'A', HEAD, at(6)),
      cut(2, 'B', HEAD, at(6)),
    ]);
    const full = served(state, sent(1, 1, null));
    const held = served(full.state, changes(at(6)), changes(at(7)));
    expect(held.effects).toEqual([cut(2, 'B', at(6), at(7))]);
    for (const wrong of [4, 6, 0]) expect(served(held.state, acks(1, wrong)).effects).toEqual([]);
    const free = served(held.state, { ...acks(1, 5), head: at(7) });
    expect(free.effects).toEqual([cut(1, 'A', HEAD, at(7))]);
  });

  test('[FOLW18] a receipt confirms its message and those before it', () => {
    const { state } = serving(
      greets(1, 'A'),
      ...[sent(1, 300_000, 1), sent(1, 300_000, 2), sent(1, 300_000, 3), sent(1, 50, null)],
    );
    expect(state.unreadBytes).toBe(900_050);
    expect(served(state, acks(1, 2)).state.unreadBytes).toBe(300_050);
    expect(served(state, acks(1, 3)).state.unreadBytes).toBe(50);
    expect(served(state, acks(1, 1), acks(1, 1), acks(1, 3)).state.unreadBytes).toBe(50);
    expect(served(state, closes(1)).state.unreadBytes).toBe(0);
  });

  test('[FOLW18] a follower that asks for a part, or pretends to have the last one, before it has read the last ones is closed', () => {
    const asks = (receipt: number | null, next: 'x' | null, life = 7): FollowServerEvent => ({
      kind: 'next',
      connection: 1,
      message: { kind: 'next', copy: { from: HEAD, at: HEAD, parts: 1, next }, receipt },
      copyLives: { from: life, at: life },
      head: HEAD,
    });
    const copying = serving(greets(1, 'A', { position: null, lifeAtPosition: null }));
    const { state } = served(copying.state, sent(1, MIB, 9));
    const early = [asks(null, 'x'), asks(8, 'x'), asks(null, null), asks(8, null, 8)];
    for (const event of early)
      expect(closed(served(state, event).effects)).toEqual(['1 NOT_READING']);
    expect(served(state, asks(9, 'x')).kinds).toEqual(['sendPart']);
    expect(served(state, asks(9, null)).kinds).toEqual(['sendCut']);
    // The cut after a part that the server has just sent does not wait for its receipt.
    const copy = { from: HEAD, at: HEAD, parts: 1, next: null };
    const partsSent = { kind: 'partsSent', connection: 1, copy, head: HEAD } as const;
    expect(served(state, partsSent).kinds).toEqual(['sendCut']);
  });

  test('[FOLW18] beyond 32 MiB of unread messages, the follower with most of them is closed', () => {
    const greetings = Array.from({ length: 40 }, (_, i) => greets(i, `c${i}`));
    const { state } = serving(...greetings, ...greetings.map((_, i) => sent(i, 800_000, 1)));
    expect(state.unreadBytes).toBe(32_000_000);
    const over = served(state, sent(7, 100_000, 2), sent(8, 2 * MIB, 2));
    expect(closed(over.effects)).toEqual(['8 NOT_READING']);
    expect(over.state.unreadBytes).toBe(32_000_000 - 800_000 + 100_000);
  });

  test('[FOLW17] changes that are too large for one message come as a snapshot, or close the connection', () => {
    const large = (canSnapshot: boolean): FollowServerEvent => ({
      ...{ kind: 'cutTooLarge', connection: 1, canSnapshot, head: at(6) },
    });
    const { state } = serving(greets(1, 'A', { record: answeredTo(2, 1) }), changes(at(6)));
    const begins = {
      kind: 'sendPart',
      connection: 1,
      from: at(6),
      at: at(6),
      parts: 0,
      after: null,
    };
    const snapshot = served(state, large(true));
    expect(snapshot.effects).toEqual([begins]);
    const last: FollowServerEvent = {
      kind: 'next',
      connection: 1,
      message: {
        kind: 'next',
        copy: { from: at(6), at: at(6), parts: 1, next: null },
        receipt: null,
      },
      copyLives: { from: 7, at: 7 },
      head: at(6),
    };
    // All outcomes come with the cut after the last part.
    expect(served(snapshot.state, last).effects).toEqual([
      { ...cut(1, 'A', at(6), at(6), 2), parts: 1 },
    ]);
    expect(closed(served(state, large(false)).effects)).toEqual(['1 OBJECT_TOO_LARGE']);
  });
});
