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
      turns.beforeNextTurn(() => log.push('alone'));
      setTimeout(resolve, 10);
    });
    await new Promise<void>((resolve) => {
      turns.beforeNextTurn(() => log.push('before'));
      turns.nextTurn(() => {
        log.push('task');
        turns.beforeNextTurn(() => log.push('before the last'));
      });
      turns.nextTurn(resolve);
    });
    expect(log).toEqual(['alone', 'before', 'task', 'before the last']);
  });
});

describe('the messages behind the turns', () => {
  /** Channels of which the test delivers the messages. */
  function watched() {
    const sent: (() => void)[] = [];
    const channels = { opened: 0, closed: 0 };
    class Channel {
      readonly port1: { onmessage: (() => void) | null } = { onmessage: null };
      readonly port2 = {
        postMessage: () => void sent.push(() => this.port1.onmessage?.()),
        close: () => void channels.closed++,
      };
      constructor() {
        channels.opened += 1;
      }
    }
    vi.stubGlobal('MessageChannel', Channel);
    const log: string[] = [];
    const turns = new MessageTurns();
    return {
      turns,
      sent,
      channels,
      log,
      note: (text: string) => () => void log.push(text),
      turn: () => sent.shift()!(),
    };
  }
  afterEach(() => vi.unstubAllGlobals());

  test('[GATE19] each task has a message, bookkeeping shares that of the next task', () => {
    const { turns, sent, log, note, turn } = watched();
    turns.nextTurn(note('a'));
    turns.nextTurn(note('b'));
    turns.beforeNextTurn(note('before a'));
    expect(sent).toHaveLength(2);
    turn();
    expect(log).toEqual(['before a', 'a']);
    turn();
    expect([log, sent]).toEqual([['before a', 'a', 'b'], []]);
  });

  test('[GATE19] bookkeeping that comes first has a message, which the next task shares', () => {
    const { turns, sent, log, note, turn } = watched();
    turns.beforeNextTurn(note('before'));
    expect(sent).toHaveLength(1);
    turns.beforeNextTurn(note('before, too'));
    turns.nextTurn(note('a'));
    expect(sent).toHaveLength(1);
    turns.nextTurn(note('b'));
    expect(sent).toHaveLength(2);
    turn();
    expect(log).toEqual(['before', 'before, too', 'a']);
    turn();
    expect(log.at(-1)).toBe('b');
  });

  test('[NODE4] turns that are closed keep no channel, except while a task waits', () => {
    const { turns, channels, log, note, turn } = watched();
    for (const name of ['a', 'b']) {
      turns.nextTurn(note(name));
      turn();
    }
    expect(channels).toEqual({ opened: 1, closed: 0 });
    turns.nextTurn(note('waits'));
    turns.nextTurn(note('waits, too'));
    turns.close();
    turn();
    expect(channels).toEqual({ opened: 1, closed: 0 });
    turn();
    expect(channels).toEqual({ opened: 1, closed: 1 });
    turns.nextTurn(note('late'));
    turn();
    expect(channels).toEqual({ opened: 2, closed: 2 });
    expect(log).toEqual(['a', 'b', 'waits', 'waits, too', 'late']);
  });

  test('[NODE4] turns that are closed while nothing waits keep no channel', () => {
    const { turns, channels, note, turn } = watched();
    turns.nextTurn(note('a'));
    turn();
    turns.close();
    expect(channels).toEqual({ opened: 1, closed: 1 });
    turns.close();
    expect(channels).toEqual({ opened: 1, closed: 1 });
  });
});
