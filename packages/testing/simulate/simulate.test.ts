// Tests `simulate`: runs from a seed, their faults, and their failures.

import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { DurableObject } from '../../../worker/realm/library/library.ts';
import { loadSqliteInNode } from '../worker/sqlite.ts';
import { digestsOf } from './examples/examples.ts';
import { type SimulateOptions, SimulationFailed, simulate } from './simulate.ts';

const pause = (delayMs: number) => new Promise<void>((resolve) => setTimeout(resolve, delayMs));

class Notes extends DurableObject {
  async add(text: string): Promise<number> {
    await this.ctx.storage.put(text, true);
    return (await this.list()).length;
  }
  async slowly(text: string): Promise<void> {
    await pause(50);
    await this.ctx.storage.put(text, true);
  }
  async list(): Promise<string[]> {
    return [...(await this.ctx.storage.list()).keys()];
  }
  async wake(): Promise<void> {
    await this.ctx.storage.setAlarm(Date.now() + 1000);
  }
  async alarm(): Promise<void> {
    await this.ctx.storage.put('alarm', Date.now());
  }
}

type Options = SimulateOptions<{ Notes: typeof Notes }>;

const calls: Options['calls'] = ({ env, pick, unique }) => [
  () => env.Notes.getByName(pick(['a', 'b'])).add(unique()),
  () => env.Notes.getByName(pick(['a', 'b'])).slowly(unique()),
  () => env.Notes.getByName(pick(['a', 'b'])).wake(),
];

async function failureOf(work: Promise<unknown>): Promise<SimulationFailed> {
  const error = await work.catch((error: unknown) => error);
  expect(error).toBeInstanceOf(SimulationFailed);
  return error as SimulationFailed;
}

test('[SIMU1] a seed gives the same run to the byte, in this process and in a fresh one', async () => {
  const digests = await digestsOf(['1', '7', 'k3']);
  expect(new Set(digests).size).toBe(3);
  expect(await digestsOf(['1', '7', 'k3'])).toEqual(digests);
  const script = fileURLToPath(new URL('./examples/print-digests.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', script]);
  expect(JSON.parse(stdout)).toEqual(digests);
});

test('[SIMU24] options and classes are checked, each by its name, before anything runs', async () => {
  const refused: [options: unknown, message: RegExp][] = [
    [undefined, /^simulate: the second argument is the options, .*, not undefined\.$/],
    [{}, /^simulate: calls takes a function .*, not undefined\.$/],
    [{ calls: [() => 1] }, /calls takes a function .*, not a list\.$/],
    [{ calls, rnus: 2 }, /there is no option rnus; there are calls, .*runs/],
    [{ calls, runs: 'x' }, /runs takes a whole number from 1 on, not "x"\.$/],
    [{ calls, runs: 0 }, /runs takes .*, not 0\.$/],
    [{ calls, steps: 0 }, /steps takes/],
    [{ calls, concurrency: 0 }, /concurrency takes/],
    [{ calls, retries: -1 }, /retries takes a whole number from 0 on, not -1/],
    [{ calls, restMs: Number.NaN }, /restMs takes .*, not NaN/],
    [{ calls, seed: 7 }, /seed takes a text, not 7/],
    [{ calls, from: null }, /from takes/],
    [{ calls, faults: true }, /faults takes an object of weights by name, or false, not true/],
    [{ calls, invariant: [5] }, /invariant takes/],
    [{ calls, setup: {} }, /setup takes a function, not an empty object/],
    [{ calls, fetch: 'x' }, /fetch takes/],
    [{ calls, versions: {} }, /versions takes/],
    [{ calls, file: 5 }, /file takes/],
  ];
  for (const [options, message] of refused) {
    await expect(simulate({ Notes }, options as Options)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(message),
    });
  }
  // The calls are known only in a run, so they are checked there.
  const calledWith = (given: unknown) =>
    failureOf(simulate({ Notes }, { calls: () => given as never }));
  for (const given of [5, [5], [{ weight: 1.5, call: () => 1 }]]) {
    expect((await calledWith(given)).cause).toMatchObject({ code: 'INVALID_ARGUMENT' });
  }
  for (const classes of [{}, undefined, [Notes]]) {
    await expect(simulate(classes as never, { calls })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  }
  for (const Wrong of [5, null, () => 1, { class: 5 }]) {
    await expect(simulate({ Wrong } as never, { calls })).rejects.toMatchObject({
      code: 'CLASS_INVALID',
      message: expect.stringContaining('Wrong is'),
    });
  }
});

test('[SIMU2] time, timers and random numbers of classes and tests come from the seed, and other code does not see them', async () => {
  class Draws extends DurableObject {
    async draw(): Promise<unknown[]> {
      const begunMs = Date.now();
      await pause(40_000);
      const bytes = [...crypto.getRandomValues(new Uint8Array(4))];
      const digest = await crypto.subtle.digest('SHA-256', new Uint8Array(bytes));
      const [row] = this.ctx.storage.sql.exec('SELECT random() AS drawn').toArray();
      return [
        begunMs,
        Date.now() - begunMs,
        Math.random(),
        crypto.randomUUID(),
        bytes,
        new Uint8Array(digest)[0],
        String(row?.drawn),
      ];
    }
  }
  const drawn: unknown[][] = [];
  const run = (seed = 'b') =>
    simulate(
      { Draws },
      {
        seed,
        faults: false,
        calls: ({ env }) => [
          async () => {
            const begunMs = Date.now();
            await pause(3000);
            drawn.push([
              Date.now() - begunMs,
              Math.random(),
              await env.Draws.getByName('d').draw(),
            ]);
          },
        ],
      },
    );
  const before = Date.now();
  const running = run();
  const seen = new Set<string>();
  let isRunning = true;
  void running.finally(() => void (isRunning = false));
  while (isRunning) {
    seen.add(typeof setTimeout(() => {}, 0)); // an object of Node; timers of runs have numbers
    expect(Math.abs(Date.now() - before)).toBeLessThan(86_400_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect([...seen]).toEqual(['object']);
  const first = drawn.splice(0);
  await run();
  expect(first.length).toBeGreaterThan(0);
  expect(drawn).toEqual(first);
  expect(first[0]![0]).toBeGreaterThanOrEqual(3000);
  expect((first[0]![2] as number[])[1]).toBeGreaterThanOrEqual(40_000);
  drawn.splice(0);
  await run('c');
  // Every random number must differ: that of the test, and those of the class, including SQL's.
  const numbers = (all: unknown[][]) => {
    const [, ofTest, ofClass] = all[0]!;
    return [ofTest, ...(ofClass as unknown[]).slice(2)];
  };
  const [ours, theirs] = [numbers(first), numbers(drawn)];
  expect(theirs).toHaveLength(6);
  expect(theirs.filter((value, i) => String(value) === String(ours[i]))).toEqual([]);
});

test("[SIMU2] SQL's random numbers of other code are the platform's after a run", async () => {
  class Draws extends DurableObject {
    draw(): void {
      this.ctx.storage.sql.exec('SELECT random()');
    }
  }
  const { exports, memory } = await loadSqliteInNode();
  const drawnAfterRun = async () => {
    await simulate(
      { Draws },
      {
        seed: 'b',
        steps: 2,
        faults: false,
        calls: ({ env }) => [() => env.Draws.getByName('d').draw()],
      },
    );
    const at = memory.scratch(8);
    exports.sqlite3_randomness(8, at);
    return memory.u8.slice(at, at + 8).join();
  };
  expect(await drawnAfterRun()).not.toBe(await drawnAfterRun());
});

test('[SIMU3] the invariant holds at rest: before the first step, after each crash, and at the end', async () => {
  const checked: number[] = [];
  let pending = 0;
  const { coverage } = await simulate(
    { Notes },
    {
      runs: 10,
      faults: { eviction: 0, failover: 0, diskError: 0, diskFull: 0, reset: 0 },
      calls: ({ env, unique }) => [
        async () => {
          pending += 1;
          await env.Notes.getByName('a')
            .slowly(unique())
            .finally(() => void (pending -= 1));
        },
        () => env.Notes.getByName('a').wake(),
      ],
      invariant: async ({ alarms }) => {
        checked.push(pending);
        for (const { lateMs } of await alarms()) expect(lateMs).toBeLessThan(0);
      },
    },
  );
  const crashes = coverage.faults.get('crash')! + coverage.faults.get('powerLoss')!;
  expect(crashes).toBeGreaterThan(10);
  expect(checked).toEqual(Array(20 + crashes).fill(0));
});

test('[SIMU4] every fault happens by default; a weight of 0 switches one off', {
  tags: 'long',
}, async () => {
  const all = await simulate({ Notes }, { runs: 24, calls });
  expect([...all.coverage.faults.keys()].sort()).toEqual(
    'alarmLate alarmTwice clockBack crash diskError diskFull eviction failover powerLoss replyLost reset'.split(
      ' ',
    ),
  );
  const some = await simulate({ Notes }, { runs: 6, calls, faults: { crash: 0, powerLoss: 0 } });
  expect(some.coverage.faults.has('crash') || some.coverage.faults.has('powerLoss')).toBe(false);
  const none = await simulate({ Notes }, { runs: 2, calls, faults: false });
  expect([...none.coverage.faults.keys()].filter((name) => name !== 'alarmLate')).toEqual([]);
  await expect(
    simulate({ Notes }, { calls, faults: { crashes: 1 } as never }),
  ).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  await expect(simulate({ Notes }, { calls, seed: 'K!' })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
  });
});

test('[SIMU5] an answered write is there after every fault', { tags: 'long' }, async () => {
  let answeredWrites = 0;
  const { coverage } = await simulate(
    { Notes },
    {
      runs: 12,
      calls,
      invariant: async ({ each, calls: made }) => {
        const stored = new Set(
          (await Promise.all(each('Notes').map((stub) => stub.list()))).flat(),
        );
        for (const { outcome, keys, method } of made) {
          if (outcome.kind !== 'answered' || method === 'wake') continue;
          expect(stored).toContain(keys[0]);
          answeredWrites += 1;
        }
      },
    },
  );
  expect(answeredWrites).toBeGreaterThan(20);
  for (const fault of ['crash', 'powerLoss', 'failover', 'eviction', 'reset'] as const) {
    expect(coverage.faults.get(fault), fault).toBeGreaterThan(0);
  }
});

test('[SIMU6] a failure has its seed, the shortest script and the own error of the assertion', async () => {
  const options: Options = {
    runs: 50,
    calls,
    invariant: async ({ env }) => {
      expect((await env.Notes.getByName('a').list()).length).toBeLessThan(3);
    },
  };
  const failure = await failureOf(simulate({ Notes }, options));
  expect((failure.cause as Error).name).toBe('AssertionError');
  expect(failure.message).toContain(`{ seed: '${failure.seed}' }`);
  expect(failure.script).toHaveLength(3);
  for (const line of failure.script) expect(line).toMatch(/^\d+ ms Notes\/a\.\w+\(/);
  const again = await failureOf(simulate({ Notes }, { ...options, seed: failure.seed }));
  expect(again.message).toBe(failure.message);
});

test('[SIMU7] a run that is not repeatable says so, with the likely reason', async () => {
  let total = 0;
  const state = simulate(
    { Notes },
    {
      runs: 50,
      calls,
      invariant: ({ calls: made }) => {
        total += made.length;
        if (total > 20 && total < 60) throw new Error(`It is ${total}.`);
      },
    },
  );
  const own = await failureOf(state);
  expect(own.message).toMatch(/something else the second time.*keeps state/s);
  const timer = simulate(
    { Notes },
    {
      runs: 5,
      faults: false,
      calls: ({ env }) => [
        async () => {
          // The loop takes more turns of the event loop than the world waits without a note; no time is measured.
          for (let i = 0; i < 60; i++) await new Promise((resolve) => setImmediate(resolve));
          await env.Notes.getByName('a').add(`${process.hrtime.bigint()}`);
          throw new Error('too late');
        },
      ],
    },
  );
  const outside = await failureOf(timer);
  expect(outside.message).toMatch(/something else the second time.*a real timer, real I\/O/s);
});

test('[SIMU8] the file of a failure has the whole run, with the databases', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ctx-storage-simulate-'));
  try {
    const file = join(folder, 'runs', 'failed.json');
    const failure = await failureOf(
      simulate(
        { Notes },
        {
          runs: 20,
          calls,
          file,
          invariant: ({ calls: made }) => {
            const answered = made.filter(({ outcome }) => outcome.kind === 'answered');
            expect(answered.length).toBeLessThan(3);
          },
        },
      ),
    );
    expect(failure.message).toContain(file);
    const run = JSON.parse(readFileSync(file, 'utf8'));
    expect(run).toMatchObject({ seed: failure.seed, script: failure.script });
    expect(run.calls.length).toBeGreaterThanOrEqual(3);
    expect(run.events.map(({ text }: { text: string }) => text)).toContain('step 0: call');
    type WrittenCall = { object: string; method: string; args: string[]; outcome: string };
    const stored = (run.calls as WrittenCall[]).filter(
      ({ method, outcome }) => method !== 'wake' && outcome === 'answered',
    );
    expect(stored.length).toBeGreaterThan(0);
    for (const { object, args } of stored) {
      const database = Buffer.from(run.databases[object], 'base64');
      expect(database.subarray(0, 15).toString()).toBe('SQLite format 3');
      expect(database.includes(args[0]!.replaceAll("'", ''))).toBe(true);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('[SIMU9] coverage counts waits at which a host ended, and interleavings, and shows them as a table', {
  tags: 'long',
}, async () => {
  const options: Options = { runs: 10, calls };
  const { coverage } = await simulate({ Notes }, options);
  expect(coverage.waits).toContain('Notes.slowly 1');
  expect(coverage.crashedAt).toContain('Notes.slowly 1');
  expect(coverage.interleavings).toContain('Notes.add at Notes.slowly 1');
  expect(coverage.table()).toMatch(/crashed at +\d+ of \d+ waits/);
});

test('[SIMU9] a minimum that is reached exactly passes; each one that is not is an error of its own', {
  tags: 'long',
}, async () => {
  const options: Options = { runs: 2, from: '7', calls };
  const { coverage } = await simulate({ Notes }, options);
  expect([...coverage.crashedAt]).toEqual(['Notes.slowly 1']);
  expect([...coverage.waits]).toEqual(['Notes.slowly 1']);
  const interleavings = coverage.interleavings.size;
  const crash = coverage.faults.get('crash')!;
  const within = (minimum: NonNullable<Options['minimum']>, more?: Options) =>
    simulate({ Notes }, { ...options, ...more, minimum });
  await within({ crashedAt: 1, interleavings, faults: { crash } });
  await expect(within({ interleavings: interleavings + 1 })).rejects.toThrow(
    `: ${interleavings} interleavings, not ${interleavings + 1}`,
  );
  await expect(within({ faults: { crash: crash + 1 } })).rejects.toThrow(
    `: crash happened ${crash} times, not ${crash + 1}`,
  );
  // Without faults, the methods wait too, but no host ends during a wait.
  await expect(within({ crashedAt: 0.25 }, { ...options, faults: false })).rejects.toThrow(
    ': a host ended at 0.00 of all waits, not 0.25',
  );
});

test('[SIMU10] a client repeats a retryable call with the same draws, as often as `retries` says', {
  tags: 'long',
}, async () => {
  const seen = new Map<number, Set<string>>();
  let repeated = 0;
  const attempts = new Set<number>();
  const options: Options = {
    runs: 12,
    calls,
    invariant: ({ calls: made }) => {
      for (const { outcome, step, keys, attempt } of made) {
        attempts.add(attempt);
        expect(outcome.kind).not.toBe('pending');
        if (seen.has(step)) repeated += 1;
        seen.set(step, (seen.get(step) ?? new Set()).add(keys.join()));
      }
      for (const keys of seen.values()) expect(keys.size).toBe(1);
      seen.clear();
    },
  };
  const { coverage } = await simulate({ Notes }, options);
  expect(coverage.retried).toBeGreaterThan(5);
  expect(repeated).toBeGreaterThan(5);
  expect(coverage.unknown).toBeGreaterThanOrEqual(coverage.retried);
  expect([...attempts].sort()).toEqual([0, 1, 2]);
  attempts.clear();
  await simulate({ Notes }, { ...options, runs: 4, retries: 1 });
  expect([...attempts].sort()).toEqual([0, 1]);
  attempts.clear();
  const { coverage: once } = await simulate({ Notes }, { ...options, runs: 4, retries: 0 });
  expect(once.retried).toBe(0);
  expect([...attempts]).toEqual([0]);
});

test('[SIMU10] the callers of a crashed host, and of a lost reply, hear CONNECTION_CLOSED and nothing else', {
  tags: 'long',
}, async () => {
  for (const fault of ['crash', 'replyLost'] as const) {
    const others = { eviction: 0, crash: 0, powerLoss: 0, failover: 0, replyLost: 0, reset: 0 };
    const heard = new Set<string>();
    const { coverage } = await simulate(
      { Notes },
      {
        runs: 6,
        faults: { ...others, diskError: 0, diskFull: 0, [fault]: 10 },
        calls: ({ env, unique }) => [
          () =>
            env.Notes.getByName('a')
              .slowly(unique())
              .catch((error: { code: string; retryable: boolean }) => {
                heard.add(`${error.code} ${error.retryable}`);
                throw error;
              }),
        ],
      },
    );
    expect(coverage.faults.get(fault)).toBeGreaterThan(2);
    expect([...heard], fault).toEqual(['CONNECTION_CLOSED true']);
  }
});

class Pays extends DurableObject {
  async pay(id: string): Promise<string> {
    const begunMs = Date.now();
    const response = await fetch('https://bank.example/pay', { method: 'POST', body: id });
    return `${await response.text()} after ${Date.now() - begunMs} ms`;
  }
}

test('[SIMU11] requests are answered by the option fetch, late, and fail before or after they arrive', {
  tags: 'long',
}, async () => {
  const outcomes = new Set<string>();
  const bank = new Set<string>();
  let latestMs = 0;
  const { coverage } = await simulate(
    { Pays },
    {
      runs: 15,
      faults: { crash: 0, powerLoss: 0, clockBack: 0 },
      fetch: async (request, { draw }) => {
        bank.add(await request.text());
        return new Response(`paid ${draw.int(1, 6)}`);
      },
      calls: ({ env, unique }) => [() => env.Pays.getByName('p').pay(unique())],
      invariant: ({ calls: made }) => {
        for (const { outcome, args } of made) {
          if (outcome.kind === 'answered') {
            const [, ms] = /^paid [1-6] after (\d+) ms$/.exec(String(outcome.value))!;
            latestMs = Math.max(latestMs, Number(ms));
          }
          if (outcome.kind !== 'failed') continue;
          expect(String(outcome.error)).toMatch(/fetch failed/);
          outcomes.add(bank.has(String(args[0])) ? 'after' : 'before');
        }
      },
    },
  );
  expect([...outcomes].sort()).toEqual(['after', 'before']);
  expect(latestMs).toBeGreaterThanOrEqual(300);
  expect(coverage.faults.get('fetchFails')).toBeGreaterThan(1);
  const refused = simulate(
    { Pays },
    {
      seed: '5',
      calls: ({ env }) => [async () => env.Pays.getByName('p').pay('1')],
      invariant: ({ calls: made }) => {
        for (const { outcome } of made) if (outcome.kind === 'failed') throw outcome.error;
      },
    },
  );
  expect((await failureOf(refused)).message).toMatch(/reaches no network/);
});

test('[SIMU12] a deployment changes the version of a class, both ways, on the same storage', {
  tags: 'long',
}, async () => {
  class Notes2 extends Notes {
    override async add(text: string): Promise<number> {
      return (await super.add(text)) + 1000;
    }
  }
  const versions = new Set<boolean>();
  const { coverage } = await simulate(
    { Notes },
    {
      runs: 10,
      versions: [{ Notes: Notes2 }],
      faults: { deploy: 20 },
      calls: ({ env, unique }) => [() => env.Notes.getByName('a').add(unique())],
      invariant: ({ calls: made }) => {
        const answered = made.filter(({ outcome }) => outcome.kind === 'answered');
        for (const { outcome, begin } of answered) {
          const value = outcome.kind === 'answered' ? Number(outcome.value) : Number.NaN;
          versions.add(value > 1000);
          const before = answered.filter(({ end }) => end! < begin);
          expect(value % 1000).toBeGreaterThan(before.length);
          expect(value % 1000).toBeLessThanOrEqual(made.length);
        }
      },
    },
  );
  expect(coverage.faults.get('deploy')).toBeGreaterThan(10);
  expect([...versions].sort()).toEqual([false, true]);
});

test('[SIMU15] a call that never ends fails the run, by its name', { tags: 'long' }, async () => {
  class Hangs extends DurableObject {
    hang(): Promise<void> {
      return new Promise(() => {});
    }
  }
  const failure = await failureOf(
    simulate(
      { Hangs },
      {
        runs: 5,
        faults: false,
        steps: 1,
        calls: ({ env }) => [() => env.Hangs.getByName('h').hang()],
      },
    ),
  );
  expect(failure.message).toMatch(/Hangs\/h\.hang\(\).* never ends/);
});

test('[SIMU17] an error that nothing handles fails the run, and so does an assertion of a call', async () => {
  class Floats extends DurableObject {
    float(): void {
      void this.fail();
    }
    async fail(): Promise<void> {
      throw new TypeError('Nobody awaits this.');
    }
  }
  const floating = simulate(
    { Floats },
    { runs: 5, faults: false, calls: ({ env }) => [() => env.Floats.getByName('f').float()] },
  );
  expect((await failureOf(floating)).message).toMatch(/nothing handles: Nobody awaits this/);
  const listening = simulate(
    { Notes },
    {
      runs: 5,
      faults: false,
      calls: ({ env, unique }) => [
        () => {
          const target = new EventTarget();
          target.addEventListener('heard', () => {
            throw new RangeError('A listener has thrown this.');
          });
          target.dispatchEvent(new Event('heard'));
          return env.Notes.getByName('a').add(unique());
        },
      ],
    },
  );
  expect((await failureOf(listening)).message).toMatch(/nothing handles: A listener has thrown/);
  const asserting = simulate(
    { Notes },
    {
      runs: 5,
      calls: ({ env, unique }) => [
        async () => expect(await env.Notes.getByName('a').add(unique())).toBe(0),
      ],
    },
  );
  expect((await failureOf(asserting)).message).toMatch(/fails in a call/);
});
