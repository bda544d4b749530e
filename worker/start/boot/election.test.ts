// Tests which of several workers leads when candidates of several deployments start, close and die in any order.

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Agent, FakeBrowser } from '../../../packages/testing/page/fake-browser.ts';
import { turns } from '../../../packages/testing/page/turns.ts';
import type { Build, Deployment } from '../../../src/shared/contract/deployment.ts';
import { ChannelEndpoint } from '../../../src/shared/wire/channel-endpoint.ts';
import {
  namesOf,
  type StartMessage,
  type WorkerMessage,
} from '../../../src/shared/wire/control.ts';
import { PageEnd } from '../../../src/shared/wire/page-end.ts';
import type { WorkerService } from '../../../src/shared/wire/worker-end.ts';
import { runCandidate } from './candidate.ts';
import { type CompareBuilds, orderOf } from './deployment-order.ts';

interface Code {
  readonly build?: Build;
  readonly compareBuilds?: CompareBuilds;
  readonly code?: string;
  /** If set, starting the host of this deployment throws it. */
  failure?: Error;
  prepare?(): Promise<unknown>;
}

/** An origin in which the workers of one directory compete for its files, which one host may have at a time. */
class Origin {
  readonly browser = new FakeBrowser();
  readonly workers: Worker[] = [];
  /** Each entry says which host took the files while another one had them. */
  readonly faults: string[] = [];
  /** Counts the hosts that have taken the files. */
  hostCount = 0;
  #holder: Worker | null = null;

  start(code: Code = {}): Worker {
    const worker = new Worker(this, this.workers.length, code);
    this.workers.push(worker);
    return worker;
  }

  get living(): Worker[] {
    return this.workers.filter(({ agent }) => !agent.hasEnded);
  }

  /** The worker whose host has the files, or null if none has. */
  get leader(): Worker | null {
    return this.#holder;
  }

  take(worker: Worker): void {
    if (this.#holder !== null) this.faults.push(`${worker.id} beside ${this.#holder.id}`);
    this.#holder = worker;
    this.hostCount += 1;
  }

  free(worker: Worker): void {
    if (this.#holder === worker) this.#holder = null;
  }

  close(): void {
    for (const worker of this.living) worker.kill();
    this.browser.close();
  }
}

class Worker {
  readonly agent: Agent;
  readonly id: string;
  readonly deployment: Deployment;
  /** The messages that the worker has sent to its page. */
  readonly told: WorkerMessage[] = [];
  readonly #origin: Origin;
  readonly #code: Code;
  readonly #start: () => void;
  readonly #ports: MessagePort[] = [];

  constructor(origin: Origin, number: number, given: Code) {
    this.#origin = origin;
    this.#code = given;
    this.agent = origin.browser.agent();
    this.id = `worker-${number}`;
    const { code = 'code', ...deployment } = given;
    const startedMs = number;
    this.deployment = { build: given.build ?? null, code, startedMs };
    const page = new EventTarget();
    runCandidate(
      {
        ...deployment,
        digest: async () => code,
        createHost: async () => ({ service: await this.#createHost(), medium: 'opfs' }),
      },
      {
        page: {
          postMessage: (message) => this.#hear(message as WorkerMessage),
          addEventListener: page.addEventListener.bind(page),
          removeEventListener: page.removeEventListener.bind(page),
          close: () => this.kill(),
        },
        locks: this.agent.locks,
        openChannel: this.agent.openChannel,
        after: (delayMs, task) => void setTimeout(task, delayMs),
        elapsed: () => performance.now(),
      },
    );
    const data: StartMessage = {
      type: 'start',
      worker: this.id,
      directory: 'd',
      medium: null,
      wasmUrl: null,
      startedMs,
    };
    this.#start = () => page.dispatchEvent(new MessageEvent('message', { data }));
    this.#start();
  }

  #hear(message: WorkerMessage): void {
    this.told.push(message);
    if (message.type !== 'leads') return;
    const { port } = message;
    if (port === undefined) throw new Error('Nobody asked for its own channel.');
    this.#ports.push(port);
    new PageEnd(new ChannelEndpoint(port));
  }

  /** Does what the page of the worker does when it looks for a leader again. */
  startAgain(): void {
    if (!this.agent.hasEnded) this.#start();
  }

  /** Ends the worker without any notice, as a closed tab does. */
  kill(): void {
    this.agent.end();
    for (const port of this.#ports) port.close();
    this.#origin.free(this);
  }

  /** How the leader's last message to this worker orders their deployments. */
  get order(): string | undefined {
    const heard = this.told.filter((message) => message.type === 'heard');
    return heard.at(-1)?.order;
  }

  #createHost(): Promise<WorkerService> {
    return this.agent.whileAlive(async () => {
      await Promise.resolve();
      if (this.#code.failure !== undefined) throw this.#code.failure;
      // A browser would have ended the worker here; this code runs on.
      if (!this.agent.hasEnded) this.#origin.take(this);
      return this.#service;
    });
  }

  readonly #service = {
    storage: { open: async () => ({ ok: 1 }), execute: async () => [], close: async () => {} },
    end: () =>
      this.agent.whileAlive(async () => {
        await Promise.resolve();
        this.#origin.free(this);
      }),
  } satisfies WorkerService;
}

let origin: Origin;

beforeEach(() => {
  origin = new Origin();
});

afterEach(() => {
  origin.close();
  expect(origin.faults).toEqual([]);
});

const whenLeads = (worker: Worker) => vi.waitUntil(() => origin.leader === worker);

describe('two deployments', () => {
  test('[BUILD1] a newer one takes over; the older one is told, and leads again when it is the last', async () => {
    const old = origin.start({ build: 1 });
    await whenLeads(old);
    const young = origin.start({ build: 2 });
    await whenLeads(young);
    await vi.waitUntil(() => old.order === 'newer');
    expect(young.order).toBe('older');
    young.kill();
    await whenLeads(old);
  });

  test('[BUILD1] an older worker that starts later waits', async () => {
    const young = origin.start({ build: 2 });
    await whenLeads(young);
    const old = origin.start({ build: 1 });
    await vi.waitUntil(() => old.order === 'newer');
    await turns(10);
    expect([origin.leader, origin.hostCount]).toEqual([young, 1]);
  });

  test('[BUILD2] the newest waiting worker leads next, whatever the order in the queue', async () => {
    const newest = origin.start({ build: 3 });
    await whenLeads(newest);
    origin.start({ build: 1 });
    origin.start({ build: 1 });
    const younger = origin.start({ build: 2 });
    origin.start({ build: 1 });
    await turns(10);
    newest.kill();
    await whenLeads(younger);
    expect(origin.hostCount).toBe(2);
  });

  test('[BUILD2] an old one, having stepped down, does not come before a second tab of the newer one', async () => {
    const old = origin.start({ build: 1 });
    await whenLeads(old);
    const young = origin.start({ build: 2 });
    await whenLeads(young);
    const second = origin.start({ build: 2 });
    await turns(10);
    young.kill();
    await whenLeads(second);
    expect(origin.hostCount).toBe(3);
  });

  test('[BUILD2] a worker that has stepped down for another takes over no more while that one lives', async () => {
    // With this comparison each build calls the other older.
    const compareBuilds: CompareBuilds = (one, other) => Number(other) - Number(one);
    const first = origin.start({ build: 1, compareBuilds });
    await whenLeads(first);
    const second = origin.start({ build: 2 });
    await whenLeads(second);
    await turns(20);
    expect([origin.leader, origin.hostCount]).toEqual([second, 2]);
    second.kill();
    await whenLeads(first);
  });

  test('[BUILD3] another tab of the same deployment takes over from nobody', async () => {
    for (const code of [{}, { build: 7 }, { build: 'seven' }]) {
      const own = new Origin();
      const first = own.start(code);
      await vi.waitUntil(() => own.leader === first);
      const second = own.start(code);
      await vi.waitUntil(() => second.order === 'same');
      await turns(10);
      expect([own.leader, own.hostCount]).toEqual([first, 1]);
      own.close();
    }
  });

  test('[BUILD6] one whose host cannot be made takes over once, and is not let in the way again', async () => {
    const old = origin.start({ build: 1 });
    await whenLeads(old);
    const young = origin.start({ build: 2, failure: new Error('no files') });
    await vi.waitUntil(() => young.told.some(({ type }) => type === 'failed'));
    await whenLeads(old);
    expect(origin.hostCount).toBe(2);
    young.startAgain();
    await vi.waitUntil(() => young.order === 'same');
    await turns(10);
    expect([origin.leader, origin.hostCount]).toEqual([old, 2]);
  });

  test('[BUILD6] a worker that cannot load its files takes over from nobody', async () => {
    const old = origin.start({ build: 1 });
    await whenLeads(old);
    const prepare = () => Promise.reject(new Error('no WebAssembly'));
    const young = origin.start({ build: 2, prepare });
    await vi.waitUntil(() => young.order === 'same');
    await turns(10);
    expect(young.told.map(({ type }) => type)).toEqual(['standing', 'failed', 'heard']);
    expect([origin.leader, origin.hostCount]).toEqual([old, 1]);
  });

  test('[TAB13] a waiting worker prepares to lead, once, and whether or not it can', {
    tags: 'long',
  }, async () => {
    const leader = origin.start();
    await whenLeads(leader);
    const prepare = vi.fn(() => Promise.reject(new Error('offline')));
    const waiting = origin.start({ prepare });
    await vi.waitUntil(() => waiting.order === 'same');
    expect(prepare).not.toHaveBeenCalled();
    waiting.startAgain();
    await vi.waitUntil(() => prepare.mock.calls.length > 0);
    expect(origin.leader).toBe(leader);
    leader.kill();
    await whenLeads(waiting);
    expect(prepare).toHaveBeenCalledTimes(1);
  });

  test('[TAB13] only the next in line prepares: the one after it does when that one has ended, or leads', {
    tags: 'long',
  }, async () => {
    const leader = origin.start();
    await whenLeads(leader);
    const prepared: number[] = [];
    const line = [1, 2, 3, 4].map((place) =>
      origin.start({ prepare: async () => void prepared.push(place) }),
    );
    await vi.waitUntil(() => prepared.length > 0);
    line[0]!.kill();
    await vi.waitUntil(() => prepared.length > 1);
    leader.kill();
    await whenLeads(line[1]!);
    await vi.waitUntil(() => prepared.length > 2);
    expect(prepared).toEqual([1, 2, 3]);
  });

  test('[TAB13] a newer deployment at the end of the line is the next: it leads next', {
    tags: 'long',
  }, async () => {
    const compareBuilds: CompareBuilds = (one, other) => Number(one) - Number(other);
    const leader = origin.start({ build: 3, compareBuilds });
    await whenLeads(leader);
    const prepared: number[] = [];
    for (const build of [1, 2, 1]) {
      origin.start({ build, compareBuilds, prepare: async () => void prepared.push(build) });
    }
    await vi.waitUntil(() => prepared.length > 0);
    leader.kill();
    await vi.waitUntil(() => prepared.length > 1);
    expect(prepared).toEqual([2, 1]);
  });

  test('[BORDER5] nobody steps down for a worker that does not wait', async () => {
    const leader = origin.start({ build: 1 });
    await whenLeads(leader);
    const anybody = origin.browser.agent();
    const { controlChannel, candidateLock } = namesOf('d');
    const control = anybody.openChannel(controlChannel);
    for (const by of ['nobody', { toString: 1 }, undefined, leader.id.repeat(2)]) {
      control.postMessage({ type: 'takeover', worker: leader.id, by });
    }
    for (const name of ['', '{', 'null', '{"worker":7}', '{"worker":"x","deployment":{}}']) {
      void anybody.locks.request(candidateLock + name, {}, () => new Promise(() => {}));
    }
    for (const deployment of [null, 7, { build: {} }, { build: 9, code: 1, startedMs: 'x' }]) {
      control.postMessage({ type: 'leads', worker: 'forged', deployment, version: '6' });
      control.postMessage({ type: 'leads', worker: { toString: 1 }, deployment });
    }
    await turns(10);
    expect([origin.leader, origin.hostCount]).toEqual([leader, 1]);
    const young = origin.start({ build: 2 });
    await whenLeads(young);
  });
});

/** Three deployments of a generated story, each worker of which runs one of them. */
const numbers = [1, 2, 3].map((build) => ({ build }));
const semver: CompareBuilds = (one, other) => {
  const [a, b] = [one, other].map((build) => Number(String(build).split('.')[1]));
  return a! - b!;
};
const consistent: Record<string, readonly Code[]> = {
  numbers,
  'a build, or no build': [...numbers, { code: 'a' }, { code: 'b' }],
  'no build': [{ code: 'a' }, { code: 'b' }, { code: 'c' }],
  'a comparison': ['1.9', '1.10', '1.2'].map((build) => ({ build, compareBuilds: semver })),
  'names without a comparison': ['red', 'green', 'blue'].map((build) => ({ build })),
};
const inconsistent: Record<string, readonly Code[]> = {
  'each is newer than all': numbers.map((code) => ({ ...code, compareBuilds: () => 1 })),
  'comparisons that throw': numbers.map((code) => ({
    ...code,
    compareBuilds: () => {
      throw new Error('no comparison');
    },
  })),
  'a circle': numbers.map((code) => ({
    ...code,
    compareBuilds: (one, other) => ((((Number(one) - Number(other)) % 3) + 4) % 3) - 1,
  })),
  'comparisons that contradict each other': [
    { build: 1, compareBuilds: (one, other) => Number(one) - Number(other) },
    { build: 2, compareBuilds: (one, other) => Number(other) - Number(one) },
    { build: 3 },
  ],
};

type Step =
  | { readonly kind: 'start'; readonly which: number }
  | { readonly kind: 'kill' | 'kill the leader' | 'start again'; readonly which: number }
  | { readonly kind: 'wait'; readonly which: number };

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(
    'start',
    'start',
    'start',
    'kill',
    'kill the leader',
    'start again',
    'wait',
  ),
  which: fc.nat(5),
}) as fc.Arbitrary<Step>;

async function perform(story: Origin, codes: readonly Code[], { kind, which }: Step) {
  const { living } = story;
  if (kind === 'start' && living.length < 6) story.start(codes[which % codes.length]);
  if (kind === 'kill') living[which % Math.max(1, living.length)]?.kill();
  if (kind === 'kill the leader') story.leader?.kill();
  if (kind === 'start again') living[which % Math.max(1, living.length)]?.startAgain();
  if (kind === 'wait') await turns(which);
}

/** A change of the leader takes fewer turns than this. */
const QUIET_TURNS = 25;

/** Does the steps, waits until somebody leads and nothing changes any more, and returns who leads and who lives. */
async function tell(codes: readonly Code[], steps: readonly Step[]) {
  const story = new Origin();
  story.start(codes[0]);
  for (const one of steps) await perform(story, codes, one);
  if (story.living.length === 0) story.start(codes[0]);
  let quiet = 0;
  let before = -1;
  for (let i = 0; i < 500 && quiet < QUIET_TURNS; i++) {
    quiet = story.leader !== null && story.hostCount === before ? quiet + 1 : 0;
    before = story.hostCount;
    await turns(1);
  }
  const { faults, leader, living } = story;
  story.close();
  expect(faults).toEqual([]);
  expect(leader).not.toBe(null);
  expect(quiet).toBe(QUIET_TURNS);
  return { leader: leader!, living };
}

for (const [name, codes] of Object.entries(consistent)) {
  test(`[BUILD2] ${name}: in any order of starts and ends one leads, and it is the newest that lives`, async () => {
    const property = fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
      const { leader, living } = await tell(codes, steps);
      const isNewer = ({ deployment }: Worker) =>
        orderOf(deployment, leader.deployment, codes[0]!.compareBuilds) === 'newer';
      expect(living.filter(isNewer).map(({ id }) => id)).toEqual([]);
    });
    await fc.assert(property, { numRuns: 12 });
  });
}

for (const [name, codes] of Object.entries(inconsistent)) {
  test(`[BUILD2] ${name}: in any order of starts and ends one leads at last, and stays`, async () => {
    const property = fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
      await tell(codes, steps);
    });
    await fc.assert(property, { numRuns: 12 });
  });
}
