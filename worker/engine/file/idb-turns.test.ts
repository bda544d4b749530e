import { expect, test } from 'vitest';
import { IdbTurns, SilentDatabase, whileAnswering } from './idb-turns.ts';

/** Time that passes when the test says so. */
class Beats {
  #tasks: (() => void)[] = [];
  /** The delays of all beats that were waited for. */
  waitedMs = 0;
  readonly after = (delayMs: number, task: () => void) => {
    this.#tasks.push(task);
    this.waitedMs += delayMs;
    return () => {
      this.#tasks = this.#tasks.filter((other) => other !== task);
    };
  };

  get isWaiting(): boolean {
    return this.#tasks.length > 0;
  }

  async pass(beats: number): Promise<void> {
    for (let i = 0; i < beats; i++) {
      for (const task of this.#tasks.splice(0)) task();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

const unanswered = () => new Promise<never>(() => {});

test('[MEDIUM8] a transaction begins when those before it have ended, however they end', async () => {
  const turns = new IdbTurns();
  const events: string[] = [];
  let end = () => {};
  const first = turns.take(async () => {
    events.push('first begins');
    await new Promise<void>((resolve) => {
      end = resolve;
    });
    events.push('first ends');
    throw new Error('refused');
  });
  const second = turns.take(async () => {
    events.push('second begins');
    return 2;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(events).toEqual(['first begins']);
  end();
  await expect(first).rejects.toThrow('refused');
  expect(await second).toBe(2);
  expect(events).toEqual(['first begins', 'first ends', 'second begins']);
});

test('[MEDIUM9] a transaction that the browser never answers is reported after 20 s, and the next one begins', async () => {
  const beats = new Beats();
  const turns = new IdbTurns(beats.after);
  let isOver = false;
  const outcome = turns.take(unanswered).catch((error: unknown) => {
    isOver = true;
    return error;
  });
  for (let beat = 0; !isOver && beat < 100; beat++) await beats.pass(1);
  expect(beats.waitedMs).toBe(20_000);
  expect(await outcome).toBeInstanceOf(SilentDatabase);
  expect(await turns.take(async () => 'next')).toBe('next');
  expect(beats.isWaiting).toBe(false);
});

/** A step whose parts are answered every 16 s, ten times. */
async function answeredInParts(beats: Beats) {
  let hear = () => {};
  let end = (_value: string) => {};
  const outcome = whileAnswering((heard) => {
    hear = heard;
    return new Promise<string>((resolve) => {
      end = resolve;
    });
  }, beats.after);
  outcome.catch(() => {});
  for (let i = 0; i < 10; i++) {
    await beats.pass(8);
    hear();
  }
  return { outcome, end };
}

test('[MEDIUM9] a long transaction is not silent while parts of it are answered', async () => {
  const { outcome, end } = await answeredInParts(new Beats());
  end('whole');
  expect(await outcome).toBe('whole');
});

test('[MEDIUM9] a long transaction is reported when 20 s pass after its last answered part', async () => {
  const beats = new Beats();
  const { outcome } = await answeredInParts(beats);
  const heardMs = beats.waitedMs;
  let reason: unknown;
  outcome.catch((error) => {
    reason = error;
  });
  for (let beat = 0; reason === undefined && beat < 100; beat++) await beats.pass(1);
  expect(reason).toBeInstanceOf(SilentDatabase);
  expect(beats.waitedMs - heardMs).toBe(20_000);
});
