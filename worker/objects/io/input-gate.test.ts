import { describe, expect, test } from 'vitest';
import type { AccessPolicy } from '../../engine/storage/access-policy.ts';
import { InputGate } from './input-gate.ts';

/** Turns of an event loop that the test itself turns. */
function loop() {
  const tasks: (() => void)[] = [];
  return {
    nextTurn: (task: () => void) => void tasks.push(task),
    /** Runs one turn. */
    turn: () => tasks.shift()?.(),
    /** Runs turns, and the microtasks of each, until none is left. */
    async settle() {
      for (;;) {
        await new Promise((resolve) => setImmediate(resolve));
        const task = tasks.shift();
        if (task === undefined) return;
        task();
      }
    },
  };
}

function make() {
  const { nextTurn, settle, turn } = loop();
  return { gate: new InputGate({ nextTurn }), settle, turn, log: [] as string[] };
}

describe('input gate', () => {
  test('[GATE1] an event runs at once when no section is open', () => {
    const { gate, log } = make();
    gate.deliver(null, () => log.push('event'));
    expect(log).toEqual(['event']);
  });

  test('[GATE1] an event runs at once in the turn after another event', () => {
    const { gate, turn, log } = make();
    for (const name of ['a', 'b', 'c']) {
      gate.deliver(null, () => log.push(name));
      expect(log.at(-1)).toBe(name);
      turn();
    }
  });

  test('[GATE1] the continuation of I/O that began outside of sections runs at once', () => {
    const { gate, log } = make();
    const resume = gate.continuation();
    resume(() => log.push('continued'));
    expect(log).toEqual(['continued']);
  });

  test('[GATE2] a section starts in a later turn, never inside the call', async () => {
    const { gate, settle, log } = make();
    const section = gate.runSection(() => log.push('in'));
    log.push('after call');
    await settle();
    await section;
    expect(log).toEqual(['after call', 'in']);
  });

  test('[LIVE3] the tasks of a section have its policy, also those of a section inside of it; later tasks do not', async () => {
    const { gate, settle } = make();
    const policy: AccessPolicy = { refusal: () => new Error('refused'), reads: null };
    const seen: (AccessPolicy | undefined)[] = [gate.currentPolicy];
    const note = () => void seen.push(gate.currentPolicy);
    const section = gate.runSection(
      async () => {
        note();
        await gate.runSection(note);
        note();
      },
      undefined,
      policy,
    );
    await settle();
    await section;
    note();
    gate.deliver(null, note);
    expect(seen).toEqual([undefined, policy, policy, policy, undefined, undefined]);
  });

  test('[GATE1] events from outside wait until the section ends, and keep their order', async () => {
    const { gate, settle, log } = make();
    let end = () => {};
    const section = gate.runSection(() => new Promise<void>((resolve) => (end = resolve)));
    await settle();
    gate.deliver(null, () => log.push('first'));
    gate.deliver(null, () => log.push('second'));
    await settle();
    expect(log).toEqual([]);
    end();
    await settle();
    await section;
    expect(log).toEqual(['first', 'second']);
  });

  test('[GATE4] the continuation of I/O begun in a section is delivered while it is open', async () => {
    const { gate, settle, log } = make();
    const section = gate.runSection(async () => {
      const resume = gate.continuation();
      await new Promise<void>((resolve) => setImmediate(() => resume(resolve)));
      log.push('continued');
    });
    const outer = gate.continuation();
    outer(() => log.push('outer'));
    await settle();
    await section;
    await settle();
    expect(log).toEqual(['continued', 'outer']);
  });

  test('[GATE5] sections started side by side run one after the other', async () => {
    const { gate, settle, log } = make();
    const run = (name: string) =>
      gate.runSection(async () => {
        log.push(`${name} begins`);
        const resume = gate.continuation();
        await new Promise<void>((resolve) => setImmediate(() => resume(resolve)));
        log.push(`${name} ends`);
      });
    const both = Promise.all([run('a'), run('b')]);
    await settle();
    await settle();
    await both;
    expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends']);
  });

  test('[GATE5] a section started inside another and not awaited runs after it', async () => {
    const { gate, settle, log } = make();
    const outer = gate.runSection(async () => {
      void gate.runSection(() => void log.push('inner'));
      log.push('outer returns');
    });
    const event = new Promise<void>((resolve) =>
      gate.deliver(null, () => {
        log.push('event');
        resolve();
      }),
    );
    await settle();
    await outer;
    await event;
    expect(log.indexOf('inner')).toBeGreaterThan(log.indexOf('outer returns'));
  });

  test('[GATE7] a failing section rejects with its own error and lets events in again', async () => {
    const { gate, settle, log } = make();
    const error = new RangeError('mine');
    const section = gate.runSection(() => {
      throw error;
    });
    const caught = section.catch((e) => e);
    gate.deliverLater(null, () => log.push('event'));
    await settle();
    expect(await caught).toBe(error);
    expect(log).toEqual(['event']);
  });

  test('[GATE8] sections nest at most 64 deep', async () => {
    for (const depth of [64, 65]) {
      const { gate, settle } = make();
      const dive = (at: number): Promise<number> =>
        gate.runSection(() => (at === depth ? at : dive(at + 1)));
      const result = dive(1).catch((error) => error);
      await settle();
      if (depth === 64) expect(await result).toBe(64);
      else {
        expect(await result).toMatchObject({
          code: 'TRANSACTION_NESTING',
          message: expect.stringMatching(/65 deep, at most 64/),
        });
      }
    }
  });

  test('[GATE9] a closed gate delivers nothing more', async () => {
    const { gate, settle, log } = make();
    gate.deliverLater(null, () => log.push('waiting'));
    gate.close();
    gate.deliver(null, () => log.push('late'));
    await settle();
    expect(log).toEqual([]);
  });

  test('[GATE9] nothing that comes to a closed gate runs: no continuation, no section', async () => {
    const { gate, settle, log } = make();
    const resume = gate.continuation();
    gate.close();
    gate.deliverLater(null, () => log.push('later'));
    gate.resume(null, () => log.push('resumed'));
    resume(() => log.push('continued'));
    void gate.runSection(() => log.push('section'));
    await settle();
    expect(log).toEqual([]);
  });

  test('[GATE17] events that arrive together run one after the other, each to its end', async () => {
    const { gate, settle, log } = make();
    for (const name of ['a', 'b', 'c']) {
      gate.deliver(null, async () => {
        log.push(`${name} begins`);
        await null;
        log.push(`${name} ends`);
      });
    }
    await settle();
    const names = ['a', 'b', 'c'];
    expect(log).toEqual(names.flatMap((name) => [`${name} begins`, `${name} ends`]));
  });

  test('[GATE17] an event that comes while another one runs waits for the next turn', async () => {
    const { gate, settle, log } = make();
    gate.deliver(null, async () => {
      log.push('begins');
      gate.deliver(null, () => log.push('other'));
      expect(gate.runNow(null, () => log.push('page'))).toBe(false);
      await null;
      log.push('ends');
    });
    await settle();
    expect(log).toEqual(['begins', 'ends', 'other']);
  });

  test('[GATE17] a continuation has a turn of its own, and so has the event after it', async () => {
    const { gate, settle, log } = make();
    const slow = (name: string) => async () => {
      log.push(`${name} begins`);
      await null;
      log.push(`${name} ends`);
    };
    const resume = gate.continuation();
    gate.deliver(null, slow('event'));
    resume(slow('continuation'));
    await settle();
    resume(slow('second'));
    gate.deliver(null, slow('last'));
    await settle();
    const names = ['event', 'continuation', 'second', 'last'];
    expect(log).toEqual(names.flatMap((name) => [`${name} begins`, `${name} ends`]));
  });

  test('[GATE18] a section that an event opens comes before the events that wait already', async () => {
    const { gate, settle, log } = make();
    const opened = new Promise<void>((resolve) => {
      gate.deliver(null, () => log.push('first'));
      gate.deliver(null, () => {
        void gate.runSection(() => log.push('section')).then(() => resolve());
      });
      gate.deliver(null, () => log.push('last'));
    });
    await settle();
    await opened;
    expect(log).toEqual(['first', 'section', 'last']);
  });
});
