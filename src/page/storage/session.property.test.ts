import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type FakeTab, FakeTabs } from '../../../packages/testing/page/fake-tabs.ts';
import { Settling } from '../../../packages/testing/page/settling.ts';
import { turns } from '../../../packages/testing/page/turns.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';
import { isStorageError } from '../../shared/contract/errors.ts';
import type { RemoteStorage } from '../../shared/contract/storage.ts';
import { CONNECT_WAIT_MS } from '../leader/leader-search.ts';

const STEPS = [
  'put',
  'get',
  'many',
  'list',
  'rows',
  'next',
  'commit',
  'throw',
  'rollback',
  'abort',
  'hold',
  'release',
  'turn',
  'lose the leader',
  'deploy',
  'close',
  'open',
] as const;

type Step = (typeof STEPS)[number];

/** The error codes that a handle may reject with, whatever happens to its worker, its object or itself. */
const CODES = new Set([
  'CONNECTION_CLOSED',
  'CURSOR_CLOSED',
  'OBJECT_RESET',
  'TRANSACTION_ENDED',
  // The time of every wait passes at once.
  'TRANSACTION_TIMEOUT',
  'STORAGE_LOCKED',
  'WORKER_BUSY',
  'WORKER_FAILED',
]);

const MINE = new Error('thrown by the closure');

interface Write {
  readonly key: string;
  readonly isAlone: boolean;
  outcome: 'pending' | 'resolved' | 'rejected';
}

/** Performs steps on the handle of one tab, while another tab leads at first. */
class Story {
  readonly tabs = new FakeTabs(runCandidate);
  readonly leader: FakeTab = this.tabs.tab();
  readonly tab: FakeTab = this.tabs.tab();
  readonly writes: Write[] = [];
  readonly faults: string[] = [];
  #storage!: RemoteStorage;
  #hasLeader = true;
  /** The tabs of newer deployments. `#hasNewer` is true while the last one is open. */
  readonly #newer: FakeTab[] = [];
  #hasNewer = false;
  #transactions = 0;
  #releases: (() => void)[] = [];

  async begin(): Promise<void> {
    await this.leader.open('object');
    this.#storage = await this.tab.open('object');
  }

  async do(step: Step): Promise<void> {
    const storage = this.#storage;
    switch (step) {
      case 'put':
        return this.#put(storage, this.#transactions === 0);
      case 'get':
        return this.#expect(storage.get('key 1'));
      case 'many':
        // More than a message holds: some have left before the last is made.
        for (let i = 0; i < 520; i++) this.#expect(storage.get(`key ${i}`));
        return this.#put(storage, this.#transactions === 0);
      case 'list':
        return this.#expect(storage.list());
      case 'rows':
        return this.#expect(storage.sql.exec('rows 1200').raw().toArray());
      case 'next':
        return this.#expect(storage.sql.exec('rows 101').next());
      case 'commit':
      case 'throw':
      case 'rollback':
        return this.#transaction(storage, step);
      case 'abort':
        return this.#expect(storage.abort('mine'));
      case 'hold':
        for (const host of this.hosts) this.#releases.push(host.holdAnswers());
        return;
      case 'release':
        return this.#release();
      case 'turn':
        return turns(3);
      case 'lose the leader':
        if (this.#hasNewer) {
          this.#newer.at(-1)!.close();
          this.#hasNewer = false;
          return;
        }
        if (this.#hasLeader) this.leader.close();
        else this.tab.terminateWorker();
        this.#hasLeader = false;
        return;
      case 'deploy': {
        this.#release();
        const newer = this.tabs.tab({ build: this.#newer.length });
        this.#newer.push(newer);
        this.#hasNewer = true;
        await newer.connect();
        return;
      }
      case 'close':
        return this.#expect(storage.close());
      case 'open': {
        this.#release();
        this.#expect(storage.close());
        return this.#open();
      }
    }
  }

  /** Closes every handle, waits until all calls have settled, and checks that the worker holds nothing for this tab. */
  async end(): Promise<void> {
    this.#release();
    await this.tab.settle();
    await turns(10);
    const living = this.#workers.filter(({ isAlive }) => isAlive);
    const sessions = living
      .flatMap(({ hosts }) => hosts)
      .reduce((sum, host) => sum + host.sessions.size, 0);
    // A handle without calls is not opened again at the next worker.
    const others = this.#hasLeader && this.#newer.length === 0 ? 1 : 0;
    if (sessions !== others) this.faults.push(`${sessions - others} sessions are left`);
    await this.tabs.close();
    for (const { key, isAlone, outcome } of this.writes) {
      if (outcome === 'pending') this.faults.push(`${key} never settled`);
      const sent = this.hosts
        .flatMap(({ messages }) => messages.flat())
        .filter((call) => call.op === 'put' && call.entries.some(([name]) => name === key)).length;
      // A transaction that its worker had not opened begins again as a whole (PTX8).
      if (sent > 1 && isAlone) this.faults.push(`${key} was sent ${sent} times`);
      if (outcome === 'resolved' && sent === 0) this.faults.push(`${key} was never sent`);
      const isKept = this.tabs.disk.get('object')?.has(key) ?? false;
      if (isAlone && outcome === 'resolved' && !isKept) this.faults.push(`${key} was lost`);
    }
  }

  get hosts() {
    return this.#workers.flatMap(({ hosts }) => hosts);
  }

  get #workers() {
    return [this.leader, this.tab, ...this.#newer].flatMap(({ workers }) => workers);
  }

  // Opens a new handle. If one worker after the other dies, this fails when time has passed, and the closed handle stays.
  async #open(): Promise<void> {
    const opening = this.tab.open('object');
    this.#expect(opening);
    await turns(5);
    this.tab.advance(CONNECT_WAIT_MS);
    const opened = await opening.catch(() => null);
    if (opened === null) return;
    this.#storage = opened;
    this.#transactions = 0;
  }

  #put(storage: Pick<RemoteStorage, 'put'>, isAlone: boolean): void {
    const write: Write = { key: `key ${this.writes.length}`, isAlone, outcome: 'pending' };
    this.writes.push(write);
    const settled = (outcome: Write['outcome']) => {
      if (write.outcome !== 'pending') this.faults.push(`${write.key} settled twice`);
      write.outcome = outcome;
    };
    const put = storage.put(write.key, 1);
    put.then(
      () => settled('resolved'),
      () => settled('rejected'),
    );
    this.#expect(put);
  }

  #transaction(storage: RemoteStorage, end: 'commit' | 'throw' | 'rollback'): void {
    this.#transactions += 1;
    const result = storage.transaction(async (txn) => {
      this.#put(txn, false);
      await turns(2);
      this.#put(storage, false);
      if (end === 'throw') throw MINE;
      if (end === 'rollback') txn.rollback();
      return this.#transactions;
    });
    const ended = () => {
      this.#transactions -= 1;
    };
    result.then(ended, ended);
    this.#expect(result);
  }

  /** Records a fault if the promise rejects with an undocumented error. */
  #expect(promise: Promise<unknown>): void {
    promise.catch((error) => {
      if (error === MINE || (isStorageError(error) && CODES.has(error.code))) return;
      this.faults.push(`rejected by ${error}`);
    });
  }

  #release(): void {
    for (const release of this.#releases.splice(0)) release();
  }
}

test('[PAGE11] any order of calls, loss, takeover, close and reply settles every call once, sends no write twice and leaves no session', {
  tags: 'long',
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...STEPS), { maxLength: 24 }), async (steps) => {
      const story = new Story();
      await story.begin();
      for (const step of steps) await story.do(step);
      await story.end();
      expect(story.faults).toEqual([]);
    }),
    { numRuns: 30 },
  );
});

test('[PAGE11] a call that never settles is named', async () => {
  const settling = new Settling();
  const watched = settling.watch({ put: () => new Promise(() => {}) });
  void watched.put();
  await expect(settling.end()).rejects.toThrow('Never settled: put.');
});
