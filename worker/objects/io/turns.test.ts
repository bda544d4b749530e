import { afterEach, describe, expect, test, vi } from 'vitest';
import { MessageTurns } from './turns.ts';

describe('turns by messages', () => {
  test('[GATE19] each task has a turn of its own, with its microtasks, in order', async () => {
    const turns = new MessageTurns();
    const log: string[] = [];
    const last = new Promise<void>((resolve) => {
      for (const name of ['a', 'b']) {
        turns.nextTurn(() => {
          log.push(name);
          queueMicrotask(() => log.push(`${name}, after`));
        });
      }
      turns.nextTurn(resolve);
    });
    log.push('now');
    await last;
    expect(log).toEqual(['now', 'a', 'a, after', 'b', 'b, after']);
  });

  test('[GATE19] bookkeeping comes before the next task, in a turn of its own when there is none', async () => {
    const turns = new MessageTurns();
    const log: string[] = [];
    await new Promise<void>((resolve) => {
      turns.beforeNextTurn(() => {
        log.push('alone');
        resolve();
      });
      log.push('now');
      queueMicrotask(() => log.push('after now'));
    });
    await new Promise<void>((resolve) => {
      turns.nextTurn(() => {
        turns.beforeNextTurn(() => log.push('before the last'));
        log.push('task');
        queueMicrotask(() => log.push('after the task'));
      });
      turns.beforeNextTurn(() => log.push('before'));
      log.push('now');
      turns.nextTurn(resolve);
    });
    expect(log).toEqual([
      ...['now', 'after now', 'alone'],
      ...['now', 'before', 'task', 'after the task', 'before the last'],
    ]);
  });
});

describe('the messages behind the turns', () => {
  /** Channels of which the test delivers the messages, in a runtime that completes microtasks between listeners. */
  function watched(turnsMax = 1) {
    const sent: (() => Promise<void>)[] = [];
    const channels = { opened: 0, closed: 0 };
    class Channel {
      readonly #listeners: ((event: object) => void)[] = [];
      readonly port1 = {
        start() {},
        addEventListener: (_type: string, listener: (event: object) => void) =>
          void this.#listeners.push(listener),
      };
      readonly port2 = {
        postMessage: () => void sent.push(() => this.#dispatch()),
        close: () => void channels.closed++,
      };
      constructor() {
        channels.opened += 1;
      }
      async #dispatch() {
        let isStopped = false;
        const event = { stopImmediatePropagation: () => void (isStopped = true) };
        for (const listener of this.#listeners) {
          if (isStopped) return;
          listener(event);
          for (let i = 0; i < 5; i++) await null;
        }
      }
    }
    vi.stubGlobal('MessageChannel', Channel);
    // A busy machine must not end the turns of a message early.
    vi.spyOn(performance, 'now').mockReturnValue(0);
    const log: string[] = [];
    const turns = new MessageTurns(turnsMax);
    return {
      turns,
      sent,
      channels,
      log,
      note: (text: string) => () => void log.push(text),
      message: () => sent.shift()!(),
    };
  }
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  });

  test('[GATE19] each task has a message, bookkeeping shares that of the next task', async () => {
    const { turns, sent, log, note, message } = watched();
    turns.nextTurn(note('a'));
    turns.nextTurn(note('b'));
    turns.beforeNextTurn(note('before a'));
    await message();
    expect(log).toEqual(['before a', 'a']);
    await message();
    expect([log, sent]).toEqual([['before a', 'a', 'b'], []]);
  });

  test('[GATE19] bookkeeping that comes first has a message, which the next task shares', async () => {
    const { turns, sent, log, note, message } = watched();
    turns.beforeNextTurn(note('before'));
    expect(sent).toHaveLength(1);
    turns.beforeNextTurn(note('before, too'));
    turns.nextTurn(note('a'));
    turns.nextTurn(note('b'));
    expect(sent).toHaveLength(1);
    await message();
    expect(log).toEqual(['before', 'before, too', 'a']);
    await message();
    expect(log.at(-1)).toBe('b');
  });

  test('[GATE21] one message brings many turns, each with its microtasks, and those they ask for', async () => {
    const { turns, sent, log, note, message } = watched(8);
    for (const name of ['a', 'b']) {
      turns.nextTurn(() => {
        log.push(name);
        queueMicrotask(note(`${name}, after`));
        turns.beforeNextTurn(note(`before what follows ${name}`));
      });
    }
    turns.nextTurn(() => turns.nextTurn(note('asked for')));
    await message();
    const ofA = ['a', 'a, after', 'before what follows a'];
    const ofB = ['b', 'b, after', 'before what follows b'];
    expect(log).toEqual([...ofA, ...ofB, 'asked for']);
    expect(sent).toEqual([]);
  });

  test('[GATE21] a message brings only so many turns, and the next one goes on', async () => {
    const { turns, sent, log, note, message } = watched(2);
    for (const name of ['a', 'b', 'c']) turns.nextTurn(note(name));
    await message();
    expect(log).toEqual(['a', 'b']);
    expect(sent).toHaveLength(1);
    await message();
    expect(log).toEqual(['a', 'b', 'c']);
    expect(sent).toEqual([]);
  });

  test('[GATE21] turns that take 2 ms together leave the others to the next message', async () => {
    const { turns, sent, log, note, message } = watched(8);
    let nowMs = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const task = (durationMs: number, text: string) =>
      turns.nextTurn(() => {
        nowMs += durationMs;
        log.push(text);
      });
    task(1.75, 'first');
    task(0.25, 'within 2 ms');
    turns.nextTurn(note('later'));
    await message();
    expect(log).toEqual(['first', 'within 2 ms']);
    expect(sent).toHaveLength(1);
    await message();
    expect(log.at(-1)).toBe('later');
  });

  test('[GATE21] a task to follow the turns runs when they are over; without turns, soon', async () => {
    const { turns, log, note, message } = watched(8);
    turns.afterTurns(note('soon'));
    await null;
    turns.nextTurn(() => turns.afterTurns(note('after')));
    turns.nextTurn(note('a'));
    await message();
    expect(log).toEqual(['soon', 'a', 'after']);
  });

  test('[NODE4] turns that are closed keep no channel, except while a task waits', async () => {
    const { turns, channels, log, note, message } = watched();
    for (const name of ['a', 'b']) {
      turns.nextTurn(note(name));
      await message();
    }
    expect(channels).toEqual({ opened: 1, closed: 0 });
    turns.nextTurn(note('waits'));
    turns.nextTurn(note('waits, too'));
    turns.close();
    await message();
    expect(channels).toEqual({ opened: 1, closed: 0 });
    await message();
    expect(channels).toEqual({ opened: 1, closed: 1 });
    turns.nextTurn(note('late'));
    await message();
    expect(channels).toEqual({ opened: 2, closed: 2 });
    expect(log).toEqual(['a', 'b', 'waits', 'waits, too', 'late']);
  });

  test('[NODE4] turns that are closed while nothing waits keep no channel', async () => {
    const { turns, channels, note, message } = watched();
    turns.nextTurn(note('a'));
    await message();
    turns.close();
    expect(channels).toEqual({ opened: 1, closed: 1 });
    turns.close();
    expect(channels).toEqual({ opened: 1, closed: 1 });
  });
});

test('[GATE21] a runtime that calls all listeners before any microtask gives each task a message', async () => {
  const turns = new MessageTurns(4);
  const log: string[] = [];
  await new Promise<void>((resolve) => {
    for (const name of ['a', 'b']) {
      turns.nextTurn(() => {
        log.push(name);
        queueMicrotask(() => log.push(`${name}, after`));
      });
    }
    turns.nextTurn(resolve);
  });
  turns.close();
  expect(log).toEqual(['a', 'a, after', 'b', 'b, after']);
});
