// The rules of the protocol, on each side alone; and the small walks of both sides together.

import { describe, expect, test } from 'vitest';
import { decodeToFollower, decodeToServer } from './decode.ts';
import {
  type Follower,
  type FollowerEffect,
  type FollowerEvent,
  openFollower,
  stepFollower,
} from './follower.ts';
import type { HelloMessage, MessageToFollower } from './messages.ts';
import { nameOf } from './model/scenario.ts';
import { SMALL_WALKS, walked } from './model/walks.ts';
import {
  type FollowServer,
  type FollowServerEffect,
  type FollowServerEvent,
  openFollowServer,
  stepFollowServer,
} from './server.ts';

const EMPTY = { id: 0, life: 0 };
const CALL = { method: 'add', args: [1], isForecast: true };
const VALUE = { kind: 'value', value: 1 } as const;

function newFollower(): Follower {
  const queue = { issued: 0, calls: [], refusals: [] };
  const stored = { base: { position: EMPTY, last: 0 }, queue, copy: null };
  return openFollower(stored, { client: 'A', version: 1 }).state;
}

function followed(state: Follower, ...events: FollowerEvent[]) {
  let effects: readonly FollowerEffect[] = [];
  for (const event of events) ({ state, effects } = stepFollower(state, event));
  return { state, effects, kinds: effects.map(({ kind }) => kind) };
}

const received = (message: MessageToFollower, connection = 1) =>
  ({ kind: 'received', connection, message }) as const;
const called: FollowerEvent = { kind: 'called', call: CALL, retried: null };
const connecting = (connection: number): FollowerEvent[] => [
  { kind: 'connected', connection },
  received({ kind: 'welcome', protocol: 1, version: 1 }, connection),
  received({ kind: 'ended', last: 0, outcomes: [] }, connection),
];
const cutTo = (
  id: number,
  last: number,
  outcome: 'value' | 'error' = 'value',
  connection: number = 1,
) =>
  received(
    {
      kind: 'cut',
      onto: { kind: 'position', position: { id: id - 1, life: id === 1 ? 0 : 1 } },
      to: { id, life: 1 },
      last,
      outcomes:
        last === 0 ? [] : [[last, outcome === 'value' ? VALUE : { kind: 'error', error: 1 }]],
      changes: [],
    },
    connection,
  );
/** On connection 2, of a copy in two parts. */
const greeting = (connection: number): FollowerEvent[] => [
  { kind: 'connected', connection },
  received({ kind: 'welcome', protocol: 1, version: 1 }, connection),
];
const markOf = (parts: number, from = EMPTY) =>
  ({ from, at: from, parts, next: parts < 2 ? parts : null }) as const;
const part = (parts: number, from = EMPTY) => {
  const changes = [`part ${parts}`];
  const message = { kind: 'part', copy: markOf(parts, from), progress: 0.5, changes } as const;
  return { kind: 'received', connection: 2, message } as const;
};
const cutOnParts = (from = EMPTY) =>
  received(
    {
      kind: 'cut',
      onto: { kind: 'parts', from, count: 2 },
      to: EMPTY,
      last: 0,
      outcomes: [],
      changes: [],
    },
    2,
  );
const numbersSent = (effects: readonly FollowerEffect[]) =>
  effects.flatMap((effect) =>
    effect.kind === 'send' && effect.message.kind === 'call' ? [effect.message.n] : [],
  );

describe('a follower', () => {
  test('[FOLW1] stores and flushes a call before it acknowledges and sends it', () => {
    const { kinds } = followed(newFollower(), ...connecting(1), called);
    expect(kinds).toEqual(['enqueue', 'flushQueue', 'acknowledge', 'send']);
  });

  test('[FOLW2] flushes the base before answered calls leave the queue', () => {
    const { kinds } = followed(newFollower(), ...connecting(1), called, cutTo(1, 1));
    expect(kinds).toEqual(['applyCut', 'flushBase', 'dequeue', 'flushQueue', 'forecast', 'settle']);
  });

  test('[FOLW2] flushes earlier cuts too when an outcome comes without a cut', () => {
    const ended = received({ kind: 'ended', last: 1, outcomes: [[1, VALUE]] });
    const { kinds } = followed(newFollower(), ...connecting(1), called, cutTo(1, 0), ended);
    expect(kinds).toEqual(['flushBase', 'dequeue', 'flushQueue', 'forecast', 'settle']);
  });

  test('[FOLW3] sends its unanswered calls again from the first one', () => {
    const { state } = followed(
      newFollower(),
      ...connecting(1),
      called,
      called,
      cutTo(1, 1),
      called,
    );
    const again = followed(
      state,
      { kind: 'disconnected', connection: 1, isTaken: false },
      { kind: 'connected', connection: 2 },
      received({ kind: 'welcome', protocol: 1, version: 1 }, 2),
      received({ kind: 'ended', last: 1, outcomes: [] }, 2),
    );
    expect(numbersSent(again.effects)).toEqual([2, 3]);
  });

  test('[FOLW3] has at most 64 calls unanswered, and sends the next after an answer', () => {
    const calls = Array.from({ length: 70 }, () => called);
    const { state } = followed(newFollower(), ...calls);
    const { state: full, effects } = followed(state, ...connecting(1));
    expect(numbersSent(effects)).toHaveLength(64);
    expect(numbersSent(followed(full, cutTo(1, 1)).effects)).toEqual([65]);
  });

  test('[FOLW6] takes calls after the snapshot of a restored object as pending', () => {
    const { state } = followed(newFollower(), ...connecting(1), called, cutTo(1, 1), called);
    const { effects } = followed(state, ...greeting(2), part(1), part(2), cutOnParts());
    const [apply, forecast] = effects;
    expect(apply).toMatchObject({ parts: 2, mark: { position: EMPTY, last: 0 } });
    expect(forecast).toMatchObject({ kind: 'forecast', calls: [{ n: 2 }] });
  });

  test('[FOLW17] asks for the next part with each one that comes, and not after the last', () => {
    const first = followed(newFollower(), ...greeting(2), part(1));
    const { copy } = part(1).message;
    expect(first.effects).toEqual([
      { kind: 'send', connection: 2, message: { kind: 'next', copy } },
      { kind: 'stagePart', copy, changes: ['part 1'] },
    ]);
    expect(followed(first.state, part(2)).kinds).toEqual(['stagePart']);
  });

  test('[FOLW17] tells the next connection the parts that it has, also after a restart', () => {
    const { state } = followed(newFollower(), ...greeting(2), part(1));
    const { base, queue, copy } = state;
    const again = openFollower({ base, queue, copy }, { client: 'A', version: 1 }).state;
    for (const one of [state, again]) {
      const [hello] = followed(one, { kind: 'connected', connection: 3 }).effects;
      expect(hello).toMatchObject({ message: { kind: 'hello', copy: part(1).message.copy } });
    }
    const whole = followed(state, part(2), cutOnParts());
    expect(whole.effects[0]).toMatchObject({ kind: 'applyCut', parts: 2 });
    expect(whole.state.copy).toBeNull();
  });

  test.each([
    ['a part that is not the next one', [part(1), part(3)]],
    ['a part of another copy', [part(1), part(2, { id: 0, life: 5 })]],
    ['the end of another copy', [part(1), part(2), cutOnParts({ id: 0, life: 5 })]],
    ['an end before the last part', [part(1), cutOnParts()]],
    ['a cut of a position between parts', [part(1), cutTo(1, 0, 'value', 2)]],
    ['no changes between parts', [part(1), received({ kind: 'ended', last: 0, outcomes: [] }, 2)]],
  ])('[FOLW17] hangs up at %s, and keeps the parts', (_, messages) => {
    const { state, kinds } = followed(newFollower(), ...greeting(2), ...messages);
    expect(kinds).toEqual(['disconnect']);
    expect(state.copy).toMatchObject({ from: EMPTY, parts: messages.length - 1 || 1 });
    const begun = followed(state, ...greeting(2), part(1, { id: 4, life: 5 }));
    expect(begun.state.copy).toMatchObject({ from: { id: 4, life: 5 }, parts: 1 });
  });

  test('[FOLW16] stops when its client belongs to another identity, and keeps its queue', () => {
    const { state } = followed(
      newFollower(),
      called,
      { kind: 'connected', connection: 1 },
      { kind: 'disconnected', connection: 1, isTaken: true },
    );
    expect(state.link).toEqual({ kind: 'stopped', reason: 'CLIENT_TAKEN' });
    expect(state.queue.calls).toHaveLength(1);
  });

  test.each(['PROTOCOL', 'OBJECT_TOO_LARGE'] as const)(
    '[FOLW7] stops when it is rejected: %s',
    (reason) => {
      const rejected = received({ kind: 'rejected', reason, protocol: { oldest: 2, newest: 3 } });
      const { state } = followed(newFollower(), { kind: 'connected', connection: 1 }, rejected);
      expect(state.link).toEqual({ kind: 'stopped', reason });
    },
  );

  test('[FOLW8] ignores a connection that it has given up', () => {
    const { state } = followed(newFollower(), ...connecting(1), {
      kind: 'connected',
      connection: 2,
    });
    expect(followed(state, cutTo(1, 0))).toEqual({ state, effects: [], kinds: [] });
    expect(followed(state, { kind: 'disconnected', connection: 1, isTaken: false }).state).toBe(
      state,
    );
  });

  test('[FOLW10] keeps a refusal in the commit that dequeues its call, until it is dismissed', () => {
    const refused = followed(newFollower(), ...connecting(1), called, cutTo(1, 1, 'error'));
    const refusals = [{ call: { ...CALL, n: 1 }, outcome: { kind: 'error', error: 1 } }];
    expect(refused.effects).toContainEqual({ kind: 'dequeue', last: 1, refusals });
    expect(refused.kinds.filter((kind) => kind === 'reportRefusal')).toHaveLength(1);
    const { base, queue, copy } = refused.state;
    const opened = openFollower({ base, queue, copy }, { client: 'A', version: 1 });
    expect(opened.effects).toContainEqual({ kind: 'reportRefusal', refusal: refusals[0] });
    const dismissed = followed(opened.state, { kind: 'dismissed', n: 1 });
    expect(dismissed.kinds).toEqual(['dismiss', 'flushQueue']);
    expect(dismissed.state.queue.refusals).toEqual([]);
  });

  test('[FOLW12] makes no forecasts for another version of the class, and keeps its queue', () => {
    const { state, effects } = followed(
      newFollower(),
      called,
      { kind: 'connected', connection: 1 },
      received({ kind: 'welcome', protocol: 1, version: 2 }),
    );
    expect(effects).toEqual([{ kind: 'forecast', calls: [] }]);
    expect(state.queue.calls).toHaveLength(1);
  });
});

const hello = (
  position: HelloMessage['position'],
  protocol = { oldest: 1, newest: 1 },
): HelloMessage => ({ kind: 'hello', protocol, client: 'A', position, copy: null, ack: 0 });
const greets = (
  connection: number,
  message = hello(EMPTY),
  canSnapshot = true,
): FollowServerEvent => ({
  kind: 'hello',
  connection,
  message,
  record: null,
  lifeThere: 0,
  copyLives: null,
  canSnapshot,
  head: EMPTY,
});
const calls = (n: number, again = false): FollowServerEvent => ({
  kind: 'call',
  connection: 1,
  message: { kind: 'call', n, method: 'add', args: [1], again, ack: 0 },
  head: EMPTY,
});

function served(state: FollowServer, ...events: FollowServerEvent[]) {
  let effects: readonly FollowServerEffect[] = [];
  for (const event of events) ({ state, effects } = stepFollowServer(state, event));
  return { state, effects, kinds: effects.map(({ kind }) => kind) };
}

const newServer = () =>
  openFollowServer({ version: 1, head: EMPTY, records: new Map(), connections: new Map() }).state;
const ends = (id: number): FollowServerEvent => ({
  kind: 'ended',
  client: 'A',
  outcome: VALUE,
  head: { id, life: id === 0 ? 0 : 1 },
});

describe('a server', () => {
  test('[FOLW4] runs a call once, and ignores it when it is repeated', () => {
    const { state, kinds } = served(newServer(), greets(1), calls(1));
    expect(kinds).toEqual(['record', 'run']);
    expect(served(state, calls(1)).effects).toEqual([]);
    expect(served(state, ends(1), calls(1)).effects).toEqual([]);
  });

  test('[FOLW4] closes a connection that leaves a number out', () => {
    const { effects } = served(newServer(), greets(1), calls(2));
    expect(effects).toEqual([{ kind: 'close', connection: 1, reason: 'CALL_GAP' }]);
  });

  test('[FOLW4] tells recorded outcomes again to the next connection', () => {
    const { state } = served(newServer(), greets(1), calls(1), ends(0));
    const { effects } = served(state, greets(2));
    const message = { kind: 'ended', last: 1, outcomes: [[1, VALUE]] };
    expect(effects).toContainEqual({ kind: 'close', connection: 1, reason: 'REPLACED' });
    expect(effects.at(-1)).toEqual({ kind: 'send', connection: 2, message });
  });

  test('[FOLW5] sends the outcomes with the cut that has the writes', () => {
    const { effects } = served(newServer(), greets(1), calls(1), ends(1));
    expect(effects.slice(1)).toEqual([
      {
        kind: 'sendCut',
        connection: 1,
        since: EMPTY,
        parts: null,
        to: { id: 1, life: 1 },
        last: 1,
        outcomes: [[1, VALUE]],
      },
    ]);
  });

  test('[FOLW6] sends the first part of a snapshot for a position of another life', () => {
    const { effects } = served(newServer(), greets(1, hello({ id: 0, life: 9 })));
    expect(effects).toMatchObject([
      { kind: 'send', message: { kind: 'welcome' } },
      { kind: 'sendPart', connection: 1, from: EMPTY, parts: 0, after: null },
    ]);
  });

  /** A follower that has these parts greets, or asks for the next one. */
  const asks = (parts: number, at: number | null, from: number | null = 0): FollowServerEvent => {
    const message = { kind: 'next', copy: markOf(parts) } as const;
    return {
      kind: 'next',
      connection: 1,
      message,
      copyLives: { from, at },
      head: { id: 7, life: 1 },
    };
  };
  const returns = (
    parts: number,
    at: number | null,
    from: number | null = 0,
  ): FollowServerEvent => {
    const message = { ...hello({ id: 0, life: 9 }), copy: markOf(parts) };
    return {
      ...(greets(1, message, false) as Extract<FollowServerEvent, { kind: 'hello' }>),
      copyLives: { from, at },
    };
  };

  test('[FOLW17] sends the part after those of the follower, and after all what was written since the first', () => {
    const { state } = served(newServer(), greets(1, hello({ id: 0, life: 9 })));
    const further = { kind: 'sendPart', connection: 1, from: EMPTY, parts: 1, after: 1 };
    const cut = { kind: 'sendCut', since: EMPTY, parts: 2 };
    expect(served(state, asks(1, 0)).effects).toMatchObject([
      { ...further, at: { id: 7, life: 1 } },
    ]);
    expect(served(state, asks(2, 0)).effects).toMatchObject([{ ...cut, to: { id: 7, life: 1 } }]);
    expect(served(newServer(), returns(1, 0)).effects.at(-1)).toMatchObject(further);
    expect(served(newServer(), returns(2, 0)).effects.at(-1)).toMatchObject(cut);
  });

  test('[FOLW17] begins again in another life, or with other tables', () => {
    const { state } = served(newServer(), greets(1, hello({ id: 0, life: 9 })));
    const head = { id: 7, life: 1 };
    const first = { kind: 'sendPart', from: head, at: head, parts: 0, after: null };
    for (const lives of [[null], [5], [0, null], [0, 5]] as [number | null, number?][]) {
      expect(served(state, asks(1, ...lives)).effects).toMatchObject([first]);
      expect(served(state, asks(2, ...lives)).effects).toMatchObject([first]);
      // Of an object that is too large by now, no other snapshot begins.
      expect(served(newServer(), returns(1, ...lives)).kinds).toEqual(['send', 'close']);
    }
  });

  test('[FOLW17] tells nothing between the parts, and closes a connection that asks for parts it does not get', () => {
    const { state } = served(newServer(), greets(1, hello({ id: 0, life: 9 })));
    expect(served(state, { kind: 'changed', head: { id: 1, life: 1 } }).effects).toEqual([]);
    const close = (reason: string) => [{ kind: 'close', connection: 1, reason }];
    expect(served(newServer(), asks(1, 0)).effects).toEqual(close('HELLO_FIRST'));
    expect(served(newServer(), greets(1), asks(1, 0)).effects).toEqual(close('NOT_COPYING'));
    const whole = served(state, asks(2, 0), asks(2, 0));
    expect(whole.effects).toEqual(close('NOT_COPYING'));
  });

  test('[FOLW7] rejects a follower without a common version', () => {
    const { effects } = served(newServer(), greets(1, hello(EMPTY, { oldest: 2, newest: 3 })));
    const message = {
      kind: 'rejected',
      reason: 'PROTOCOL',
      protocol: { oldest: 1, newest: 1 },
    };
    expect(effects).toEqual([
      { kind: 'send', connection: 1, message },
      { kind: 'close', connection: 1, reason: 'PROTOCOL' },
    ]);
  });

  test('[FOLW15] rejects a follower that would need a snapshot of an object that is too large', () => {
    const unknown = served(newServer(), greets(1, hello({ id: 0, life: 9 }), false));
    expect(unknown.effects).toMatchObject([
      { kind: 'send', message: { kind: 'rejected', reason: 'OBJECT_TOO_LARGE' } },
      { kind: 'close', connection: 1, reason: 'OBJECT_TOO_LARGE' },
    ]);
    expect(served(newServer(), greets(1, hello(EMPTY), false)).kinds).not.toContain('close');
  });

  test('[FOLW8] closes a connection that calls without hello', () => {
    expect(served(newServer(), calls(1)).effects).toEqual([
      { kind: 'close', connection: 1, reason: 'HELLO_FIRST' },
    ]);
  });

  test('[FOLW9] answers a call whose later turns were lost', () => {
    const record = { started: 1, last: 0, acked: 0, attempts: 0, outcomes: [] };
    const records = new Map([['A', record]]);
    const stored = { version: 1, head: EMPTY, records, connections: new Map() };
    const outcomes = [[1, { kind: 'failed', code: 'CALL_INTERRUPTED' }]];
    expect(openFollowServer(stored).effects).toEqual([
      { kind: 'record', client: 'A', record: { ...record, last: 1, outcomes } },
    ]);
  });

  test('[FOLW9] makes each further attempt durable, and abandons a call after the third', () => {
    const { kinds } = served(newServer(), greets(1), calls(1, true));
    expect(kinds).toEqual(['record', 'storeAttempt']);
    const record = { started: 0, last: 0, acked: 0, attempts: 3, outcomes: [] };
    const again: FollowServerEvent = {
      ...(greets(1) as { kind: 'hello' } & FollowServerEvent),
      record,
    };
    const { effects } = served(newServer(), again, calls(1, true));
    const outcomes = [[1, { kind: 'failed', code: 'CALL_ABANDONED' }]];
    expect(effects.at(-1)).toMatchObject({ message: { kind: 'ended', last: 1, outcomes } });
  });
});

describe('messages', () => {
  test.each([
    [decodeToServer, { ...hello(null), ack: -1 }],
    [decodeToServer, { ...hello(null), client: '' }],
    [decodeToServer, { ...hello({ id: 1, life: 2 ** 32 }) }],
    [decodeToServer, { ...hello(null), protocol: { oldest: 2, newest: 1 } }],
    [decodeToServer, { ...hello(null), copy: { from: EMPTY, at: EMPTY, parts: 0, next: null } }],
    [decodeToServer, { kind: 'next', copy: null }],
    [decodeToServer, { kind: 'next', copy: { from: null, at: EMPTY, parts: 1, next: null } }],
    [decodeToServer, { kind: 'next', copy: { from: EMPTY, at: null, parts: 1, next: null } }],
    [decodeToServer, { kind: 'call', n: 0, method: 'a', args: [], again: false, ack: 0 }],
    [decodeToServer, { kind: 'ended', last: 0, outcomes: [] }],
    [decodeToServer, null],
    [decodeToFollower, { kind: 'ended', last: 1, outcomes: [[1, { kind: 'other' }]] }],
    [decodeToFollower, { kind: 'cut', onto: { kind: 'parts', from: EMPTY, count: 0 } }],
    [decodeToFollower, { kind: 'part', copy: markOf(0), progress: 0, changes: [] }],
    [decodeToFollower, hello(null)],
  ])('[FOLW11] %o refuses %o', (decode, value) => {
    expect(() => decode(value)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });

  test('[FOLW11] a message of the right shape stays as it is, without further fields', () => {
    expect(decodeToServer({ ...hello(EMPTY), more: 1 })).toEqual(hello(EMPTY));
    const { message } = cutTo(1, 1);
    expect(decodeToFollower({ ...message, more: 1 })).toEqual(message);
  });
});

test.each(SMALL_WALKS.map((walk) => [nameOf(walk), walk] as const))(
  '[FOLW13] all promises hold: %s',
  { tags: 'long' },
  (_, walk) => {
    expect(walked(walk).failure).toBeNull();
  },
);

test('[FOLW13] steps that the model leaves out break no promise either', { tags: 'long' }, () => {
  for (const walk of SMALL_WALKS.slice(0, 4)) {
    const all = walked(walk, { takesAll: true });
    expect(all.failure).toBeNull();
    expect(all.states).toBeGreaterThan(walked(walk).states);
  }
});
