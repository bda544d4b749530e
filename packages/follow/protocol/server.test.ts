// Tests the server's side alone: the order of the clients' calls, and the messages to each connection.

import { describe, expect, test } from 'vitest';
import {
  answeredTo,
  at,
  BYTES,
  begun,
  call,
  calls,
  changes,
  close,
  closes,
  cut,
  ended,
  ends,
  type Greeting,
  greets,
  HEAD,
  NEW,
  open,
  pauses,
  recorded,
  served,
  serving,
  stored,
  value,
  welcome,
} from '../testing/server-steps.ts';
import type { FollowedOutcome, Position } from './messages.ts';
import type { FollowServerEvent } from './server-events.ts';
import type { ClientRecord, FollowerConnection } from './server-state.ts';
import { NOTHING_UNREAD } from './unread.ts';

describe('a hello', () => {
  test('[FOLW5] is answered with everything since its position, and all outcomes that are not acknowledged', () => {
    const record = answeredTo(3, 1);
    const known = serving(greets(1, 'A', { record, ack: 1 }));
    expect(known.effects).toEqual([welcome(1, 3), ended(1, 'A', 3)]);
    const behind = serving(greets(1, 'A', { record, ack: 1, position: at(2) }));
    expect(behind.effects).toEqual([welcome(1, 3), cut(1, 'A', at(2), HEAD, 3)]);
    expect(serving(greets(1, 'A')).effects).toEqual([welcome(1), ended(1, 'A', 0)]);
  });

  test('[FOLS5] forgets the outcomes that it acknowledges, and keeps the later ones', () => {
    const { effects, state } = serving(greets(1, 'A', { record: answeredTo(3), ack: 2 }));
    const record = { ...answeredTo(3, 2), acked: 2 };
    expect(effects).toEqual([recorded('A', record), welcome(1, 3), ended(1, 'A', 3)]);
    // An acknowledgement that is repeated stores nothing.
    expect(served(state, closes(1), greets(2, 'A', { record, ack: 2 })).kinds).toEqual([
      'send',
      'sendEnded',
    ]);
  });

  test('[FOLS14] that acknowledges answers which a restore took back uses their numbers', () => {
    const { effects, state } = serving(greets(1, 'A', { record: answeredTo(3), ack: 5 }));
    const record = { ...NEW, started: 5, last: 5, acked: 5 };
    expect(effects).toEqual([recorded('A', record), welcome(1, 5), ended(1, 'A', 5)]);
    expect(served(state, calls(1, 5)).effects).toEqual([]);
    expect(begun(served(state, calls(1, 6)).effects)).toEqual(['A6']);
  });

  test('[FOLS10] may not acknowledge calls that run or wait', () => {
    const running = serving(greets(1, 'A'), calls(1, 1), pauses('A'));
    for (const state of [running.state, served(running.state, calls(1, 2)).state]) {
      const { effects } = served(state, greets(2, 'A', { ack: 1 }));
      expect(effects).toEqual([close(1, 'REPLACED'), close(2, 'ACK_AHEAD')]);
    }
    const attempted = serving(greets(1, 'B'), greets(2, 'A'), calls(1, 1, true), calls(2, 1));
    const waiting = served(attempted.state, greets(3, 'A', { ack: 1 }));
    expect(waiting.effects.at(-1)).toEqual(close(3, 'ACK_AHEAD'));
    // The closed connection must say hello again.
    expect(served(waiting.state, calls(3, 2)).effects).toEqual([close(3, 'HELLO_FIRST')]);
  });

  test('[FOLW7] needs a common version', () => {
    const ranges = [
      [0, 1],
      [3, 3],
    ].map(([oldest, newest]) => ({ oldest: oldest!, newest: newest! }));
    const supported = { oldest: 2, newest: 2 };
    const message = { kind: 'rejected', reason: 'PROTOCOL', protocol: supported };
    for (const protocol of ranges) {
      const { effects, state } = serving(greets(1, 'A', { protocol }));
      expect(effects).toEqual([{ kind: 'send', connection: 1, message }, close(1, 'PROTOCOL')]);
      expect(state.connections.size + state.clients.size).toBe(0);
    }
    for (const [oldest, newest] of [
      [0, 2],
      [2, 9],
    ] as const) {
      const { effects } = serving(greets(1, 'A', { protocol: { oldest, newest } }));
      expect(effects).toEqual([welcome(1), ended(1, 'A', 0)]);
    }
  });

  test('[FOLW8] ends the older connection of its client, and no other', () => {
    const { state, effects } = serving(greets(1, 'A'), greets(2, 'B'), greets(3, 'A'));
    expect(effects).toEqual([close(1, 'REPLACED'), welcome(3), ended(3, 'A', 0)]);
    expect(served(state, calls(1, 1)).effects).toEqual([close(1, 'HELLO_FIRST')]);
    expect(begun(served(state, calls(2, 1)).effects)).toEqual(['B1']);
  });

  test('[FOLS10] comes once on a connection', () => {
    const { state, effects } = serving(greets(1, 'A'), greets(1, 'B'));
    expect(effects).toEqual([close(1, 'HELLO_TWICE')]);
    expect(state.connections.size).toBe(0);
    expect(served(state, calls(1, 1)).effects).toEqual([close(1, 'HELLO_FIRST')]);
  });

  test('[FOLW15] with a known position is answered, however large the object is', () => {
    const { effects } = serving(greets(1, 'A', { canSnapshot: false }));
    expect(effects).toEqual([welcome(1), ended(1, 'A', 0)]);
  });

  test('[FOLW6] [FOLW15] with a position that the object does not have is answered with a part, or rejected', () => {
    const begins = { kind: 'sendPart', connection: 1, from: HEAD, at: HEAD, parts: 0, after: null };
    for (const given of [
      { position: null, lifeAtPosition: null },
      { position: at(5, 8) },
      { lifeAtPosition: null },
    ] as Greeting[]) {
      expect(serving(greets(1, 'A', given)).effects).toEqual([welcome(1), begins]);
      const { effects } = serving(greets(1, 'A', { ...given, canSnapshot: false }));
      expect(effects).toEqual([
        {
          kind: 'send',
          connection: 1,
          message: {
            kind: 'rejected',
            reason: 'OBJECT_TOO_LARGE',
            protocol: { oldest: 2, newest: 2 },
          },
        },
        close(1, 'OBJECT_TOO_LARGE'),
      ]);
    }
  });
});

describe('calls', () => {
  test('[FOLS5] run in order, one of a client at a time, each with its record', () => {
    const first = serving(greets(1, 'A'), calls(1, 1));
    expect(first.effects).toEqual([
      recorded('A', { ...NEW, started: 1, mark: 101 }),
      { kind: 'run', client: 'A', call: call(1) },
    ]);
    const behind = served(first.state, pauses('A'), calls(1, 2), calls(1, 3));
    expect(behind.effects).toEqual([]);
    const second = served(behind.state, ends('A', value(10)));
    const one: ClientRecord = { ...NEW, started: 1, mark: 101, last: 1, outcomeBytes: [BYTES] };
    expect(second.effects).toEqual([
      recorded('A', one, value(10)),
      ended(1, 'A', 1),
      recorded('A', { ...one, started: 2, mark: 102 }),
      { kind: 'run', client: 'A', call: call(2) },
    ]);
    const third = served(second.state, ends('A', value(20)));
    // Each outcome is sent once on a connection.
    expect(third.effects[1]).toEqual(ended(1, 'A', 2, 1));
    expect(begun(third.effects)).toEqual(['A3']);
  });

  test('[FOLW4] that were received are ignored: while they wait, run, and after their end', () => {
    const { state } = serving(greets(1, 'A'), calls(1, 1), calls(1, 2));
    for (const n of [1, 2]) expect(served(state, calls(1, n)).effects).toEqual([]);
    const twice = served(state, calls(1, 2), ends('A'), ends('A'));
    expect(begun(twice.effects)).toEqual([]);
    expect(served(twice.state, calls(1, 2), calls(1, 1)).effects).toEqual([]);
    expect(begun(served(twice.state, calls(1, 3)).effects)).toEqual(['A3']);
    const attempting = serving(greets(1, 'A'), calls(1, 1, true));
    expect(served(attempting.state, calls(1, 1, true)).effects).toEqual([]);
    expect(served(attempting.state, calls(1, 2, true)).effects).toEqual([]);
  });

  test('[FOLS10] leave no number out, whatever waits', () => {
    const gap = [close(1, 'CALL_GAP')];
    const { state } = serving(greets(1, 'A'), calls(1, 1), calls(1, 2));
    expect(served(state, calls(1, 4)).effects).toEqual(gap);
    expect(served(serving(greets(1, 'A'), calls(1, 1)).state, calls(1, 3)).effects).toEqual(gap);
    const later = serving(greets(1, 'A', { record: answeredTo(7, 7), ack: 7 }));
    expect(served(later.state, calls(1, 9)).effects).toEqual(gap);
    expect(begun(served(later.state, calls(1, 8)).effects)).toEqual(['A8']);
    const attempting = serving(greets(1, 'A'), calls(1, 1, true));
    expect(served(attempting.state, calls(1, 3, true)).effects).toEqual(gap);
  });

  test('[FOLS10] of which more than 64 are not acknowledged close the connection', () => {
    let { state } = serving(greets(1, 'A', { record: answeredTo(9, 9), ack: 9 }), calls(1, 10));
    for (let n = 11; n <= 9 + 64; n++) state = served(state, calls(1, n)).state;
    expect(served(state, calls(1, 74)).effects).toEqual([close(1, 'TOO_MANY_CALLS')]);
    const answered = served(state, ends('A')).state;
    expect(served(answered, calls(1, 74)).effects).toEqual([close(1, 'TOO_MANY_CALLS')]);
    expect(served(answered, calls(1, 74, false, 10)).kinds).toEqual(['record']);
  });

  test('[FOLS10] acknowledge, and may not acknowledge calls that are not answered', () => {
    const { state } = serving(greets(1, 'A', { record: answeredTo(3) }));
    const acknowledging = served(state, calls(1, 4, false, 2));
    expect(acknowledging.effects.slice(0, 2)).toEqual([
      recorded('A', { ...answeredTo(3, 2), acked: 2 }),
      recorded('A', { ...answeredTo(3, 2), acked: 2, started: 4, mark: 104 }),
    ]);
    const ahead = served(acknowledging.state, calls(1, 5, false, 4));
    expect(ahead.effects).toEqual([close(1, 'ACK_AHEAD')]);
    expect(served(ahead.state, calls(1, 5)).effects).toEqual([close(1, 'HELLO_FIRST')]);
  });

  test('[FOLS5] go on without a connection, and their client is remembered until then', () => {
    const { state } = serving(greets(1, 'A'), calls(1, 1), calls(1, 2), pauses('A'), closes(1));
    expect([...state.clients.keys()]).toEqual(['A']);
    const second = served(state, ends('A'));
    expect(begun(second.effects)).toEqual(['A2']);
    expect(second.kinds).not.toContain('sendEnded');
    expect(served(second.state, ends('A')).state.clients.size).toBe(0);
    // The client's next connection uses the record in memory, not the stored one.
    const back = served(second.state, greets(2, 'A', { record: NEW }));
    expect(back.effects.at(-1)).toEqual(ended(2, 'A', 1));
  });

  test('[FOLS5] that wait for the attempt of another client run, though their connection was lost', () => {
    const { state } = serving(greets(1, 'A'), greets(2, 'B'), calls(1, 1, true), calls(2, 1));
    const lost = served(state, closes(2), closes(1), stored('A'));
    expect(begun(lost.effects)).toEqual(['A1']);
    expect(begun(served(lost.state, ends('A')).effects)).toEqual(['B1']);
  });

  test('[FOLP15] of other clients begin while one waits in a later turn, in turn', () => {
    const both = serving(greets(1, 'A'), greets(2, 'B'), calls(1, 1));
    expect(begun(served(both.state, pauses('A'), calls(2, 1)).effects)).toEqual(['B1']);
    // Whenever a call ends or pauses, one waiting call begins: the first call of the next client.
    const three = serving(
      ...['A', 'B', 'C'].map((client, i) => greets(i + 1, client)),
      calls(2, 1, true),
      ...[calls(1, 1), calls(1, 2), calls(2, 2), calls(3, 1), calls(3, 2)],
      stored('B'),
    );
    let { state } = three;
    const order: string[] = begun(three.effects);
    for (const event of [ends('B'), pauses('C'), pauses('A'), ends('B'), ends('C'), ends('A')]) {
      const next = served(state, event);
      expect(begun(next.effects).length).toBeLessThan(2);
      order.push(...begun(next.effects));
      state = next.state;
    }
    expect(order).toEqual(['B1', 'C1', 'A1', 'B2', 'C2', 'A2']);
  });
});

describe('an attempt', () => {
  test('[FOLW9] is counted durably before it runs, and no other call begins meanwhile', () => {
    const record = { ...NEW, attempts: 2 };
    const attempted = serving(greets(1, 'A', { record }), greets(2, 'B'), calls(1, 1, true));
    expect(attempted.effects).toEqual([
      recorded('A', { ...NEW, attempts: 3 }),
      { kind: 'storeAttempt', client: 'A' },
    ]);
    const other = served(attempted.state, calls(2, 1));
    expect(other.effects).toEqual([]);
    const run = served(other.state, stored('A'));
    expect(run.effects).toEqual([
      recorded('A', { ...NEW, attempts: 3, started: 1, mark: 101 }),
      { kind: 'run', client: 'A', call: call(1, true) },
    ]);
    const after = served(run.state, ends('A'));
    // The attempts are counted for each call, not for each client.
    expect(after.effects[0]).toEqual(
      recorded('A', { ...NEW, started: 1, mark: 101, last: 1, outcomeBytes: [BYTES] }, value(1)),
    );
    expect(begun(after.effects)).toEqual(['B1']);
  });

  test('[FOLW9] that is stored twice runs once', () => {
    const { state } = serving(greets(1, 'A'), calls(1, 1, true), stored('A'));
    expect(served(state, stored('A')).effects).toEqual([]);
  });

  test('[FOLW9] after the third is not made: the call is abandoned, and the next one begins', () => {
    const record = { ...NEW, attempts: 3 };
    const blocked = serving(greets(1, 'A', { record }), greets(2, 'B'), calls(2, 1, true));
    const { state } = served(blocked.state, calls(1, 1, true), calls(1, 2, true), calls(1, 3));
    const { effects } = served(state, stored('B'), ends('B'));
    const abandoned: FollowedOutcome = { kind: 'failed', code: 'CALL_ABANDONED' };
    const begunRecord = { ...record, started: 1, mark: 101 };
    const ended1 = { ...begunRecord, last: 1, attempts: 0, outcomeBytes: [expect.any(Number)] };
    expect(effects.slice(2)).toEqual([
      recorded('A', begunRecord),
      recorded('A', ended1, abandoned),
      ended(1, 'A', 1),
      recorded('A', { ...ended1, attempts: 1 }),
      { kind: 'storeAttempt', client: 'A' },
    ]);
    const alone = serving(greets(1, 'A', { record }), greets(2, 'B'), calls(1, 1, true));
    // The abandoned call does not run, so the call of another client begins.
    expect(begun(served(alone.state, calls(2, 1)).effects)).toEqual(['B1']);
  });

  test('[FOLW9] that is abandoned lets the call of the next client begin', () => {
    const record = { ...NEW, attempts: 3 };
    const { state } = serving(
      ...[greets(1, 'B'), greets(2, 'A', { record }), greets(3, 'C')],
      ...[calls(1, 1, true), calls(2, 1, true), calls(3, 1), stored('B')],
    );
    expect(begun(served(state, ends('B')).effects)).toEqual(['C1']);
  });
});

describe('connections', () => {
  test('[FOLS8] get the changes since their last message, each its own outcomes, and nothing twice', () => {
    const both = serving(greets(1, 'A'), greets(2, 'B'), calls(1, 1));
    const changed = served(both.state, changes(at(6)));
    expect(changed.effects).toEqual([cut(1, 'A', HEAD, at(6)), cut(2, 'B', HEAD, at(6))]);
    expect(served(changed.state, changes(at(6))).effects).toEqual([]);
    const done = served(changed.state, ends('A', value(1), at(7)));
    expect(done.effects.slice(1)).toEqual([
      cut(1, 'A', at(6), at(7), 1),
      cut(2, 'B', at(6), at(7)),
    ]);
    const other = served(done.state, changes(at(7, 8)));
    expect(other.effects).toEqual([
      cut(1, 'A', at(7), at(7, 8), 1, 1),
      cut(2, 'B', at(7), at(7, 8)),
    ]);
    expect(served(other.state, closes(1), changes(at(9))).effects).toEqual([
      cut(2, 'B', at(7, 8), at(9)),
    ]);
  });

  test('[FOLS8] get the writes of the first turn of a call when it pauses', () => {
    const { state } = serving(greets(1, 'A'), greets(2, 'B'), calls(1, 1));
    expect(served(state, pauses('A', at(6))).effects).toEqual([
      cut(1, 'A', HEAD, at(6)),
      cut(2, 'B', HEAD, at(6)),
    ]);
  });

  test('[FOLW17] that copy get outcomes with the cut after the last part, and everything from then on', () => {
    const mark = { from: at(5), at: at(6), parts: 2, next: null };
    const next: FollowServerEvent = {
      kind: 'next',
      connection: 1,
      message: { kind: 'next', copy: mark, receipt: null },
      copyLives: { from: 7, at: 7 },
      head: at(8),
    };
    const record = answeredTo(2, 1);
    const copying = serving(greets(1, 'A', { record, ack: 1, position: null }), greets(2, 'B'));
    const meanwhile = served(copying.state, calls(1, 3), ends('A', value(3), at(7)));
    expect(meanwhile.effects.slice(1)).toEqual([cut(2, 'B', HEAD, at(7))]);
    const { state, effects } = served(meanwhile.state, next);
    expect(effects).toEqual([{ ...cut(1, 'A', at(5), at(8), 3), parts: 2 }]);
    expect(served(state, changes(at(9))).effects).toEqual([
      cut(1, 'A', at(8), at(9), 3, 3),
      cut(2, 'B', at(7), at(9)),
    ]);
  });

  test('[FOLW8] that are closed are closed for their late messages', () => {
    const { state } = serving(greets(1, 'A'), closes(1));
    expect(state.connections.size + state.clients.size).toBe(0);
    expect(served(state, calls(1, 1)).effects).toEqual([close(1, 'HELLO_FIRST')]);
    expect(served(state, greets(1, 'A')).effects).toEqual([welcome(1), ended(1, 'A', 0)]);
  });
});

describe('a server that is opened', () => {
  const connection = (client: string, sent: Position | null, told: number): FollowerConnection => ({
    client,
    sent,
    told,
    unread: NOTHING_UNREAD,
  });

  test('[FOLS12] tells the connections of the instance before the changes and outcomes that they lack', () => {
    const records = { A: answeredTo(3, 1), B: answeredTo(2, 2), C: answeredTo(1) };
    const connections = new Map([
      [1, connection('A', HEAD, 2)],
      [2, connection('B', at(4), 2)],
      [3, connection('C', null, 0)],
      [4, connection('D', HEAD, 0)],
    ]);
    const { state, effects } = open(records, connections);
    expect(effects).toEqual([ended(1, 'A', 3, 2), cut(2, 'B', at(4), HEAD, 2, 2)]);
    expect(state.version).toBe(3);
    expect(begun(served(state, calls(2, 3, false, 2)).effects)).toEqual(['B3']);
    expect(begun(served(state, calls(4, 1)).effects)).toEqual(['D1']);
  });

  test('[FOLW9] ends a call of several turns that an earlier instance began, and no others', () => {
    const interrupted: FollowedOutcome = { kind: 'failed', code: 'CALL_INTERRUPTED' };
    const records = { A: { ...answeredTo(2, 1), started: 3 }, B: answeredTo(1) };
    const { state, effects } = open(records, new Map([[1, connection('A', HEAD, 2)]]));
    const record = {
      ...{ ...answeredTo(2, 1), started: 3, last: 3 },
      outcomeBytes: [BYTES, expect.any(Number)],
    };
    expect(effects).toEqual([recorded('A', record, interrupted), ended(1, 'A', 3, 2)]);
    expect([...state.clients.keys()]).toEqual(['A']);
    expect(served(state, calls(1, 3, true)).effects).toEqual([]);
    expect(begun(served(state, calls(1, 4)).effects)).toEqual(['A4']);
  });
});

describe('the newest received call', () => {
  test('[FOLW19] is told in the welcome with its mark: answered, running or waiting', () => {
    const record = { ...answeredTo(3, 3), mark: 103 };
    const greeting = { record, ack: 3 };
    expect(serving(greets(1, 'A', greeting)).effects[0]).toEqual(welcome(1, 3, 103));
    const running = serving(greets(1, 'A', greeting), calls(1, 4), pauses('A'));
    expect(served(running.state, greets(2, 'A', { ack: 3 })).effects[1]).toEqual(
      welcome(2, 4, 104),
    );
    const waiting = served(running.state, calls(1, 5));
    expect(served(waiting.state, greets(2, 'A', { ack: 3 })).effects[1]).toEqual(
      welcome(2, 5, 105),
    );
    const attempted = serving(greets(1, 'A', greeting), calls(1, 4, true));
    expect(served(attempted.state, greets(2, 'A', { ack: 3 })).effects[1]).toEqual(
      welcome(2, 4, 104),
    );
  });
});
