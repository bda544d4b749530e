import { describe, expect, test } from 'vitest';
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
