// Tests the follower's side alone: the effects of each event, in order, and the messages at which it hangs up.

import { describe, expect, test } from 'vitest';
import {
  type Follower,
  type FollowerEffect,
  type FollowerEvent,
  openFollower,
  type QueuedCall,
  stepFollower,
} from './follower.ts';
import type {
  FollowedOutcome,
  MarkedNumber,
  MessageToFollower,
  NumberedOutcome,
  Position,
} from './messages.ts';

const EMPTY: Position = { id: 0, life: 0 };
const CODE = { client: 'A', version: 4 };
const VALUE: FollowedOutcome = { kind: 'value', value: 1 };
const ERROR: FollowedOutcome = { kind: 'error', error: 'no' };

const queued = (n: number, isForecast = true): QueuedCall => ({
  n,
  mark: 100 + n,
  method: 'add',
  args: [n],
  bytes: 10,
  isForecast,
});
const at = (id: number): Position => ({ id, life: 7 });
const dequeuedTo = (last: number, ...refusals: object[]) => ({
  ...{ kind: 'dequeue', last, mark: 100 + last, refusals },
});

type Stored = Parameters<typeof openFollower>[0];
/** The stored state of a replica that has made calls 1 to `issued`, of which those after `answered` wait. */
function stored(issued: number, answered = 0, base: Partial<Stored['base']> = {}): Stored {
  const calls = Array.from({ length: issued - answered }, (_, i) => queued(answered + i + 1));
  return {
    base: { position: EMPTY, last: answered, ...base },
    queue: { issued, leftMark: answered === 0 ? null : 100 + answered, calls, refusals: [] },
    copy: null,
  };
}
const opened = (from: Stored) => openFollower(from, CODE).state;

function stepped(state: Follower, ...events: FollowerEvent[]) {
  let effects: readonly FollowerEffect[] = [];
  for (const event of events) ({ state, effects } = stepFollower(state, event));
  return { state, effects, kinds: effects.map(({ kind }) => kind) };
}

const received = (message: MessageToFollower, connection = 1): FollowerEvent => ({
  kind: 'received',
  connection,
  message,
});
const called: FollowerEvent = {
  kind: 'called',
  call: { mark: 7, method: 'add', args: [0], bytes: 10, isForecast: true },
  retried: null,
};
const welcome = (
  version = CODE.version,
  received: MarkedNumber = { n: 0, mark: null },
): MessageToFollower => ({ kind: 'welcome', protocol: 2, version, received });
const greeted = (connection = 1, version?: number): FollowerEvent[] => [
  { kind: 'connected', connection },
  received(welcome(version), connection),
];
const ended = (last: number, ...outcomes: NumberedOutcome[]): MessageToFollower => ({
  kind: 'ended',
  last,
  outcomes,
  receipt: null,
});
const current = (last: number, connection = 1): FollowerEvent[] => [
  ...greeted(connection),
  received(ended(last), connection),
];
const lost = (connection = 1): FollowerEvent => ({
  kind: 'disconnected',
  connection,
  isClientTaken: false,
});
const cut = (
  from: Position,
  to: Position,
  last: number,
  ...outcomes: NumberedOutcome[]
): MessageToFollower => ({
  kind: 'cut',
  onto: { kind: 'position', position: from },
  to,
  last,
  outcomes,
  changes: 'changes',
  receipt: null,
});
/** A part of a snapshot that began at `from` and has two parts. */
const part = (parts: number, from = at(5), progress = 0.5): MessageToFollower => ({
  kind: 'part',
  copy: { from, at: from, parts, next: parts === 2 ? null : 'more' },
  progress,
  changes: `part ${parts}`,
  receipt: null,
});
const onParts = (
  count: number,
  last = 0,
  from = at(5),
  ...outcomes: NumberedOutcome[]
): MessageToFollower => ({
  kind: 'cut',
  onto: { kind: 'parts', from, count },
  to: at(6),
  last,
  outcomes,
  changes: 'since',
  receipt: null,
});

/** Returns `[n, again, ack]` of each call that these effects send. */
const sent = (effects: readonly FollowerEffect[]) =>
  effects.flatMap((effect) =>
    effect.kind === 'send' && effect.message.kind === 'call'
      ? [[effect.message.n, effect.message.again, effect.message.ack]]
      : [],
  );
const hello = (effects: readonly FollowerEffect[]) =>
  effects.map((effect) => effect.kind === 'send' && effect.message);
const forecastIn = (effects: readonly FollowerEffect[]) =>
  effects.flatMap((effect) => (effect.kind === 'forecast' ? [effect.calls.map(({ n }) => n)] : []));

describe('a follower that is opened', () => {
  test('[FOLW10] forecasts the calls that wait, and reports each refusal', () => {
    const from = stored(4, 2);
    const refusals = [1, 2].map((n) => ({ call: queued(n), outcome: ERROR }) as const);
    const { state, effects } = openFollower({ ...from, queue: { ...from.queue, refusals } }, CODE);
    expect(effects).toEqual([
      { kind: 'forecast', calls: [queued(3), queued(4)] },
      { kind: 'reportRefusal', refusal: refusals[0] },
      { kind: 'reportRefusal', refusal: refusals[1] },
    ]);
    expect(state.link).toEqual({ kind: 'offline' });
  });

  test('[FOLW2] does not forecast calls that its base has, nor calls that reach outside', () => {
    const from = stored(4, 1, { last: 2 });
    const calls = [queued(2), queued(3, false), queued(4)];
    const { effects } = openFollower({ ...from, queue: { ...from.queue, calls } }, CODE);
    expect(forecastIn(effects)).toEqual([[4]]);
  });

  test('[FOLW3] says hello with its position, and with the last call of which it needs no answer', () => {
    const connect: FollowerEvent = { kind: 'connected', connection: 1 };
    const expected = { kind: 'hello', protocol: { oldest: 2, newest: 2 }, client: 'A', copy: null };
    const waiting = stepped(opened(stored(5, 3, { position: at(9) })), connect);
    expect(hello(waiting.effects)).toEqual([{ ...expected, position: at(9), ack: 3 }]);
    const none = stepped(opened(stored(5, 5, { position: null })), connect);
    expect(hello(none.effects)).toEqual([{ ...expected, position: null, ack: 5 }]);
  });
});

describe('the calls of a follower', () => {
  test('[FOLW1] wait in the queue, acknowledged, until it is current', () => {
    let state = opened(stored(0));
    for (const event of [
      [],
      [{ kind: 'connected', connection: 1 }],
      [received(welcome())],
    ] as FollowerEvent[][]) {
      const made = stepped(state, ...event, called);
      expect(made.kinds).toEqual(['enqueue', 'flushQueue', 'acknowledge']);
      ({ state } = made);
    }
    expect(sent(stepped(state, received(ended(0))).effects)).toEqual([
      [1, false, 0],
      [2, false, 0],
      [3, false, 0],
    ]);
  });

  test('[FOLW1] are stored and flushed before they are acknowledged and sent', () => {
    const { kinds } = stepped(opened(stored(0)), ...current(0), called);
    expect(kinds).toEqual(['enqueue', 'flushQueue', 'acknowledge', 'send']);
  });

  test('[FOLW1] have the next number, which is stored with the call', () => {
    const { state, effects } = stepped(opened(stored(7, 7)), called);
    const call = { ...queued(8), mark: 7, args: [0] };
    expect(effects).toEqual([
      { kind: 'enqueue', call, retried: null },
      { kind: 'flushQueue' },
      { kind: 'acknowledge', n: 8 },
    ]);
    expect(state.queue).toEqual({ issued: 8, leftMark: 107, calls: [call], refusals: [] });
  });

  test('[FOLW3] [FOLW9] tell whether they may have been sent before', () => {
    // An earlier process has stored 1 and 2, and may have sent them.
    const first = stepped(opened(stored(2)), called, ...current(0));
    expect(sent(first.effects)).toEqual([
      [1, true, 0],
      [2, true, 0],
      [3, false, 0],
    ]);
    const more = stepped(first.state, called);
    expect(sent(more.effects)).toEqual([[4, false, 0]]);
    // 5 is made while the connection is lost.
    const next = stepped(more.state, lost(), called, ...current(0, 2));
    expect(sent(next.effects)).toEqual([
      [1, true, 0],
      [2, true, 0],
      [3, true, 0],
      [4, true, 0],
      [5, false, 0],
    ]);
    // On a connection that sends fewer calls, call 5 still counts as sent before.
    const answered = stepped(next.state, received(ended(4), 2), lost(2), ...current(4, 3));
    expect(sent(answered.effects)).toEqual([[5, true, 4]]);
  });

  test('[FOLW3] at most 64 are unanswered, counted from the first one, over several answers', () => {
    const full = stepped(opened(stored(0)), ...Array.from({ length: 130 }, () => called));
    const begun = stepped(full.state, ...current(0));
    expect(sent(begun.effects).map(([n]) => n)).toEqual(
      Array.from({ length: 64 }, (_, i) => i + 1),
    );
    expect(sent(stepped(begun.state, called).effects)).toEqual([]);
    const two = stepped(begun.state, received(ended(2)));
    expect(sent(two.effects)).toEqual([
      [65, false, 2],
      [66, false, 2],
    ]);
    expect(sent(stepped(two.state, received(ended(3))).effects)).toEqual([[67, false, 3]]);
  });

  test('[FOLW10] a refused call that is made again takes the place of its refusal, in the commit that stores it', () => {
    const refusals = [1, 2].map((n) => ({ call: queued(n), outcome: ERROR }) as const);
    const from = stored(2, 2);
    const state = opened({ ...from, queue: { ...from.queue, refusals } });
    const { state: after, effects } = stepped(state, { ...called, retried: 1 } as FollowerEvent);
    expect(effects[0]).toMatchObject({ kind: 'enqueue', call: { n: 3 }, retried: 1 });
    expect(after.queue.refusals).toEqual([refusals[1]]);
    const dismissed = stepped(state, { kind: 'dismissed', n: 2 });
    expect(dismissed.effects).toEqual([{ kind: 'dismiss', n: 2 }, { kind: 'flushQueue' }]);
    expect(dismissed.state.queue).toEqual({ ...state.queue, refusals: [refusals[0]] });
  });
});

describe('answers', () => {
  test('[FOLW5] [FOLW10] settle each call with its own outcome, and keep the refusals with those of before', () => {
    const before = { call: queued(1), outcome: ERROR } as const;
    const from = stored(5, 1);
    const state = opened({ ...from, queue: { ...from.queue, refusals: [before] } });
    const failed = { kind: 'failed', code: 'CALL_ABANDONED' } as const;
    const message = cut(EMPTY, at(1), 4, [2, VALUE], [3, ERROR], [4, failed]);
    const { state: after, effects } = stepped(state, ...current(1), received(message));
    const refused = [
      { call: queued(3), outcome: ERROR },
      { call: queued(4), outcome: failed },
    ];
    expect(effects).toEqual([
      {
        kind: 'applyCut',
        parts: null,
        changes: 'changes',
        mark: { position: at(1), last: 4 },
      },
      { kind: 'flushBase' },
      dequeuedTo(4, ...refused),
      { kind: 'flushQueue' },
      { kind: 'forecast', calls: [queued(5)] },
      { kind: 'settle', n: 2, outcome: VALUE },
      { kind: 'settle', n: 3, outcome: ERROR },
      { kind: 'settle', n: 4, outcome: failed },
      ...refused.map((refusal) => ({ kind: 'reportRefusal', refusal })),
    ]);
    expect(after.queue).toEqual({
      issued: 5,
      leftMark: 104,
      calls: [queued(5)],
      refusals: [before, ...refused],
    });
    expect(after.base).toEqual({ position: at(1), last: 4 });
  });

  test('[FOLW2] flush earlier cuts, too, before their calls leave the queue', () => {
    const cutBefore = received(cut(EMPTY, at(1), 0));
    const { kinds } = stepped(
      opened(stored(1)),
      ...current(0),
      cutBefore,
      received(ended(1, [1, VALUE])),
    );
    expect(kinds).toEqual(['flushBase', 'dequeue', 'flushQueue', 'forecast', 'settle']);
  });

  test('[FOLW2] a message without answers removes no call from the queue, and flushes nothing', () => {
    const state = opened(stored(1));
    const others = stepped(state, ...current(0), received(cut(EMPTY, at(1), 0)));
    expect(others.kinds).toEqual(['applyCut', 'forecast']);
    expect(stepped(others.state, received(ended(0))).effects).toEqual([]);
  });

  test('[FOLW4] a call that is answered without its outcome has failed, which its app is told', () => {
    const { state, effects } = stepped(
      opened(stored(2)),
      ...current(0),
      received(ended(2, [2, VALUE])),
    );
    const outcome = { kind: 'failed', code: 'OUTCOME_LOST' };
    expect(effects).toContainEqual({ kind: 'settle', n: 1, outcome });
    expect(effects).toContainEqual({ kind: 'settle', n: 2, outcome: VALUE });
    expect(state.queue.refusals).toEqual([{ call: queued(1), outcome }]);
  });

  test('[FOLW16] of calls that the queue never had stop the follower, and change nothing else', () => {
    for (const message of [ended(3), cut(EMPTY, at(1), 3)]) {
      const from = opened(stored(2));
      const { state, kinds } = stepped(from, ...current(0), received(message));
      expect(kinds).toEqual(['disconnect']);
      expect(state.link).toEqual({ kind: 'stopped', reason: 'QUEUE_BEHIND' });
      expect([state.base, state.queue]).toEqual([from.base, from.queue]);
      expect(stepped(state, lost()).state.link).toEqual({
        kind: 'stopped',
        reason: 'QUEUE_BEHIND',
      });
    }
    const last = stepped(opened(stored(2)), ...current(0), received(ended(2)));
    expect(last.state.link).toMatchObject({ kind: 'current' });
  });
});

describe('a follower hangs up', () => {
  const whole = opened(stored(2, 1, { position: at(3) }));
  const without = opened(stored(0, 0, { position: null }));
  const copying = [...greeted(), received(part(1))];
  test.each([
    [
      'a welcome after the welcome',
      whole,
      [...greeted(), received(welcome())],
      /"welcome".*catchingUp/,
    ],
    [
      'a rejection after the welcome',
      whole,
      [
        ...greeted(),
        received({ kind: 'rejected', reason: 'PROTOCOL', protocol: { oldest: 2, newest: 2 } }),
      ],
      /"rejected".*catchingUp/,
    ],
    [
      'answers before the welcome',
      whole,
      [{ kind: 'connected', connection: 1 }, received(ended(1))],
      /"ended".*greeting/,
    ],
    [
      'a cut before the welcome',
      whole,
      [{ kind: 'connected', connection: 1 }, received(cut(at(3), at(4), 1))],
      /"cut".*greeting/,
    ],
    [
      'a part before the welcome',
      whole,
      [{ kind: 'connected', connection: 1 }, received(part(1))],
      /"part".*greeting/,
    ],
    ['a part while it is current', whole, [...current(1), received(part(1))], /"part".*current/],
    ['answers that fall behind', whole, [...greeted(), received(ended(0))], /smaller number/],
    [
      'a cut whose answers fall behind',
      whole,
      [...greeted(), received(cut(at(3), at(4), 0))],
      /smaller number/,
    ],
    [
      'a cut of another number',
      whole,
      [...greeted(), received(cut(at(2), at(4), 1))],
      /follow the base/,
    ],
    [
      'a cut of a position before any copy',
      without,
      [...greeted(), received(cut(at(3), at(4), 0))],
      /follow the base/,
    ],
    [
      'a cut of another life',
      whole,
      [...greeted(), received(cut({ id: 3, life: 8 }, at(4), 1))],
      /follow the base/,
    ],
    [
      'a cut that comes twice',
      whole,
      [...current(1), received(cut(at(3), at(4), 1)), received(cut(at(3), at(4), 1))],
      /follow the base/,
    ],
    ['answers without a copy', without, [...greeted(), received(ended(0))], /not completed/],
    ['answers amid a copy', whole, [...copying, received(ended(1))], /not completed/],
    ['a cut amid a copy', whole, [...copying, received(cut(at(3), at(4), 1))], /follow the base/],
    [
      'the end of a copy of more parts',
      whole,
      [...copying, received(part(2)), received(onParts(3))],
      /follow the base/,
    ],
    [
      'the end of a copy that was not begun',
      whole,
      [...greeted(), received(onParts(1))],
      /follow the base/,
    ],
    [
      'the end of a copy before its last part',
      whole,
      [...copying, received(onParts(1))],
      /follow the base/,
    ],
    [
      'the end of a copy of another moment',
      whole,
      [...copying, received(part(2)), received(onParts(2, 0, at(4)))],
      /follow the base/,
    ],
    ['a second part without the first', whole, [...greeted(), received(part(2))], /missing/],
    ['a part after the next one', whole, [...copying, received(part(3))], /missing/],
    ['a part of another snapshot', whole, [...copying, received(part(2, at(4)))], /missing/],
    [
      'a part that comes twice',
      whole,
      [...copying, received(part(2)), received(part(2))],
      /missing/,
    ],
  ] as [string, Follower, FollowerEvent[], RegExp][])(
    '[FOLW11] at %s, and is told why',
    (_, from, events, why) => {
      const before = stepped(from, ...events.slice(0, -1)).state;
      const { state, effects } = stepFollower(before, events.at(-1)!);
      const reason = expect.stringMatching(why);
      expect(effects).toEqual([{ kind: 'disconnect', connection: 1, reason }]);
      // The message changes nothing, so the next hello names the stored position.
      expect(state).toEqual({ ...before, link: { kind: 'offline' } });
      // A new connection goes on from the parts and the position that are stored.
      const next = stepped(state, ...greeted(2), received(part(1), 2), received(part(2), 2));
      const done = stepped(next.state, received(onParts(2, from.queue.issued), 2));
      expect(done.state).toMatchObject({ base: { position: at(6) }, link: { kind: 'current' } });
    },
  );
});

describe('a follower stops', () => {
  test('[FOLW16] when its client belongs to another identity, and keeps its queue', () => {
    const { state } = stepped(
      opened(stored(1)),
      { kind: 'connected', connection: 1 },
      { kind: 'disconnected', connection: 1, isClientTaken: true },
    );
    expect(state.link).toEqual({ kind: 'stopped', reason: 'CLIENT_TAKEN' });
    expect(state.queue.calls).toEqual([queued(1)]);
  });

  test.each(['PROTOCOL', 'OBJECT_TOO_LARGE'] as const)(
    '[FOLW7] when the server rejects its hello: %s',
    (reason) => {
      const protocol = { oldest: 2, newest: 3 };
      const { state, kinds } = stepped(
        opened(stored(1)),
        { kind: 'connected', connection: 1 },
        received({ kind: 'rejected', reason, protocol }),
      );
      expect(kinds).toEqual(['disconnect']);
      expect(state.link).toEqual({ kind: 'stopped', reason });
      expect(state.queue.calls).toEqual([queued(1)]);
    },
  );
});

describe('a snapshot', () => {
  test('[FOLW17] each part asks for the next one before it is staged, except the last', () => {
    const first = stepped(opened(stored(0)), ...greeted(), received(part(1)));
    const copy = { from: at(5), at: at(5), parts: 1, next: 'more' };
    expect(first.effects).toEqual([
      { kind: 'send', connection: 1, message: { kind: 'next', copy, receipt: null } },
      { kind: 'stagePart', copy, changes: 'part 1' },
    ]);
    expect(stepped(first.state, received(part(2))).kinds).toEqual(['stagePart']);
  });

  test('[FOLW17] the next hello names the staged parts, also after a restart', () => {
    const { state } = stepped(opened(stored(0)), ...greeted(), received(part(1)));
    const { base, queue, copy } = state;
    expect(copy).toEqual({ from: at(5), at: at(5), parts: 1, next: 'more' });
    for (const one of [state, opened({ base, queue, copy })]) {
      const { effects } = stepped(one, { kind: 'connected', connection: 2 });
      expect(hello(effects)).toMatchObject([{ kind: 'hello', copy }]);
    }
  });

  test('[FOLW17] is staged part by part, and used whole; its progress is told', () => {
    const from = opened(stored(0, 0, { position: null }));
    const begun = stepped(from, ...greeted());
    expect(begun.state.link).toEqual({ kind: 'catchingUp', connection: 1, progress: null });
    const one = stepped(begun.state, received(part(1, at(5), 0)));
    expect(one.state.link).toEqual({ kind: 'catchingUp', connection: 1, progress: 0 });
    const two = stepped(one.state, received(part(2, at(5), 0.75)));
    expect(two.state.link).toEqual({ kind: 'catchingUp', connection: 1, progress: 0.75 });
    expect(two.effects).toMatchObject([
      { kind: 'stagePart', copy: { parts: 2 }, changes: 'part 2' },
    ]);
    const { state, effects } = stepped(two.state, received(onParts(2)));
    expect(effects).toEqual([
      { kind: 'applyCut', parts: 2, changes: 'since', mark: { position: at(6), last: 0 } },
      { kind: 'forecast', calls: [] },
    ]);
    expect(state).toMatchObject({ copy: null, link: { kind: 'current', connection: 1 } });
  });

  test('[FOLW6] of a restored object takes answers back: the calls after it wait again, and are sent', () => {
    const from = stored(5, 3, { position: at(9) });
    const events = [...greeted(), received(part(1)), received(part(2)), received(onParts(2, 2))];
    const { state, effects } = stepped(opened(from), ...events);
    expect(state.base).toEqual({ position: at(6), last: 2 });
    expect(forecastIn(effects)).toEqual([[4, 5]]);
    expect(sent(effects)).toEqual([
      [4, true, 3],
      [5, true, 3],
    ]);
  });

  test('[FOLW5] has the outcomes of the calls in it', () => {
    const events = [...greeted(), received(part(1)), received(part(2))];
    const message = onParts(2, 1, at(5), [1, ERROR]);
    const { kinds, effects, state } = stepped(opened(stored(2)), ...events, received(message));
    expect(kinds).toEqual([
      ...['applyCut', 'flushBase', 'dequeue', 'flushQueue', 'forecast', 'settle'],
      ...['reportRefusal', 'send'],
    ]);
    expect(effects).toContainEqual({ kind: 'settle', n: 1, outcome: ERROR });
    expect(state.base.last).toBe(1);
  });

  test('[FOLW17] that began again replaces the parts of the other one; a cut of the base keeps them', () => {
    // The connection is lost after one part of a snapshot of position 5.
    const from = opened(stored(0, 0, { position: at(3) }));
    const staged = stepped(from, ...greeted(), received(part(1)), lost());
    expect(staged.state.copy).toMatchObject({ from: at(5), parts: 1 });
    // The next connection sends changes of the base instead.
    const known = stepped(staged.state, ...greeted(2), received(cut(at(3), at(8), 0), 2));
    expect(known.kinds).toEqual(['applyCut', 'forecast']);
    expect(known.state.copy).toEqual(staged.state.copy);
    // The next connection may also begin another snapshot, of position 9.
    const again = stepped(staged.state, ...greeted(2), received(part(1, at(9)), 2));
    expect(again.state.copy).toMatchObject({ from: at(9), parts: 1 });
  });
});

describe('another version of the class', () => {
  test('[FOLW12] ends the forecasts, and the version of the follower begins them again', () => {
    const other = stepped(opened(stored(2)), ...greeted(1, 9));
    expect(other.effects).toEqual([{ kind: 'forecast', calls: [] }]);
    const sentOn = stepped(other.state, received(ended(0)));
    expect(sent(sentOn.effects)).toEqual([
      [1, true, 0],
      [2, true, 0],
    ]);
    const still = stepped(sentOn.state, lost(), ...greeted(2, 9));
    expect(still.effects).toEqual([]);
    const answered = stepped(still.state, received(cut(EMPTY, at(1), 1, [1, VALUE]), 2));
    expect(forecastIn(answered.effects)).toEqual([[]]);
    const back = stepped(answered.state, lost(2), ...greeted(3));
    expect(back.effects).toEqual([{ kind: 'forecast', calls: [queued(2)] }]);
    expect(stepped(back.state, lost(3), ...greeted(4)).effects).toEqual([]);
  });
});

describe('events of a connection', () => {
  test('[FOLW8] that is not the present one change nothing', () => {
    const on2 = stepped(opened(stored(1)), ...current(0), ...current(0, 2));
    for (const event of [
      received(ended(1, [1, VALUE])),
      received(cut(EMPTY, at(1), 0)),
      received(welcome()),
      lost(1),
      { kind: 'disconnected', connection: 1, isClientTaken: true },
    ] as FollowerEvent[]) {
      expect(stepFollower(on2.state, event)).toEqual({ state: on2.state, effects: [] });
    }
    const offline = stepped(on2.state, lost(2));
    expect(offline.state.link).toEqual({ kind: 'offline' });
    expect(offline.effects).toEqual([]);
    expect(stepped(offline.state, received(ended(1), 2)).state).toBe(offline.state);
  });
});

describe('the marks of calls', () => {
  /** Connects a queue that has made calls 1 to 5, of which 1 to 3 are answered, to a server that has received a call. */
  const told = (n: number, mark: number | null, from = stored(5, 3)) =>
    stepped(
      opened(from),
      { kind: 'connected', connection: 1 },
      received(welcome(CODE.version, { n, mark })),
    );
  const behind = { kind: 'stopped', reason: 'QUEUE_BEHIND' };

  test('[FOLW19] a call that this queue has not made, of a number that it has given, stops it', () => {
    // The call is the last that has left the queue, one that waits, or the newest.
    for (const n of [3, 4, 5]) {
      expect(told(n, 100 + n).state.link.kind).toBe('catchingUp');
      const other = told(n, 99);
      expect(other.state.link).toEqual(behind);
      expect(other.kinds).toEqual(['disconnect']);
      expect(other.state.queue).toEqual(stored(5, 3).queue);
    }
    expect(told(6, 106).state.link).toEqual(behind);
  });

  test('[FOLW19] a call that left the queue long ago, or has no mark on one side, stops nothing', () => {
    expect(told(2, 99).state.link.kind).toBe('catchingUp');
    expect(told(0, null).state.link.kind).toBe('catchingUp');
    expect(told(5, null).state.link.kind).toBe('catchingUp');
    const old = stored(5, 3);
    const unmarked = { ...old, queue: { ...old.queue, leftMark: null } };
    expect(told(3, 99, unmarked).state.link.kind).toBe('catchingUp');
    expect(told(4, 99, unmarked).state.link).toEqual(behind);
  });
});

describe('receipts', () => {
  const ackOf = (effects: readonly FollowerEffect[]) =>
    effects.flatMap((one) =>
      one.kind === 'send' && one.message.kind === 'ack' ? one.message : [],
    );

  test('[FOLW18] a message that asks for one is confirmed after what it brought is flushed', () => {
    const { state } = stepped(opened(stored(2)), ...current(0));
    const answers = { ...ended(1, [1, VALUE]), receipt: 77 } as MessageToFollower;
    const { effects, kinds } = stepped(state, received(answers));
    expect(ackOf(effects)).toEqual([{ kind: 'ack', ack: 1, receipt: 77 }]);
    expect(kinds.at(-1)).toBe('send');
    expect(kinds.lastIndexOf('flushQueue')).toBeLessThan(kinds.length - 1);
    const changed = { ...cut(EMPTY, at(1), 0), receipt: 78 } as MessageToFollower;
    expect(ackOf(stepped(state, received(changed)).effects)).toEqual([
      { kind: 'ack', ack: 0, receipt: 78 },
    ]);
  });

  test('[FOLW18] a part is confirmed by the request for the next one, the last part by a message of its own', () => {
    const first = { ...part(1), receipt: 5 } as MessageToFollower;
    const { state, effects } = stepped(opened(stored(0)), ...greeted(), received(first));
    const asked = effects.flatMap((one) => (one.kind === 'send' ? [one.message] : []));
    expect(asked).toEqual([{ kind: 'next', copy: expect.anything(), receipt: 5 }]);
    const last = stepped(state, received({ ...part(2), receipt: 6 } as MessageToFollower));
    expect(ackOf(last.effects)).toEqual([{ kind: 'ack', ack: 0, receipt: 6 }]);
  });

  test('[FOLW18] a message that is not accepted is not confirmed', () => {
    const { state } = stepped(opened(stored(0)), ...current(0));
    const wrong = { ...cut(at(3), at(4), 0), receipt: 9 } as MessageToFollower;
    expect(stepped(state, received(wrong)).kinds).toEqual(['disconnect']);
  });
});

test('[FOLS10] no more calls are sent than the server takes: 64, and arguments of 1 MiB and one more call', () => {
  const sentNumbers = (effects: readonly FollowerEffect[]) =>
    effects.flatMap((one) =>
      one.kind === 'send' && one.message.kind === 'call' ? one.message.n : [],
    );
  const withSizes = (bytes: number, count: number) => {
    const from = stored(count);
    const calls = from.queue.calls.map((call) => ({ ...call, bytes }));
    return opened({ ...from, queue: { ...from.queue, calls } });
  };
  const numbers = (count: number) => Array.from({ length: count }, (_, i) => i + 1);
  const half = withSizes(2 ** 19 + 1, 70);
  const { state, effects } = stepped(half, ...current(0));
  expect(sentNumbers(effects)).toEqual([1, 2]);
  expect(sentNumbers(stepped(state, received(ended(1, [1, VALUE]))).effects)).toEqual([3]);
  expect(sentNumbers(stepped(withSizes(2 ** 20, 3), ...current(0)).effects)).toEqual([1]);
  expect(sentNumbers(stepped(withSizes(10, 70), ...current(0)).effects)).toEqual(numbers(64));
});
