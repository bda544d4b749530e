import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import type { DurableObjectStorage } from '../../../src/shared/contract/storage.ts';
import { annotationOf } from '../log/annotation.ts';
import { UNRESTRICTED } from './access-policy.ts';
import { CommitAuthors } from './commit-authors.ts';
import { Commits } from './commits.ts';
import type { CommitScope } from './storage-environment.ts';

let host: TestHost;
beforeEach(async () => {
  host = await createTestHost();
});
afterEach(() => host.close());

const BOOKMARKS = {
  getCurrentBookmark: (storage: DurableObjectStorage) => storage.getCurrentBookmark(),
  getBookmarkForTime: (storage: DurableObjectStorage) => storage.getBookmarkForTime(host.now()),
} as const;

test.each(['getCurrentBookmark', 'getBookmarkForTime'] as const)(
  '[LOG19] a result of %s leaves the object when its commit is durable, whoever confirms the write',
  async (name) => {
    await host.run(({ storage }) => storage.put('before', 1));
    host.holdFlushes();
    let bookmark: string | undefined;
    const asked = host.run(async ({ storage }) => {
      void storage.put('a', 1, { allowUnconfirmed: true });
      return BOOKMARKS[name](storage);
    });
    void asked.then((found) => {
      bookmark = found;
    });
    await host.turns(20);
    expect(host.durable()).toBeLessThan(host.committed());
    expect(bookmark).toBeUndefined();
    host.releaseFlushes();
    await asked;
    expect(host.durable()).toBe(host.committed());
  },
);

/** A log that counts its flushes, which end when they are told. */
class HeldLog {
  needsFlush = true;
  count = 0;
  end = () => {};

  flush(): Promise<void> {
    this.count++;
    return new Promise((resolve) => {
      this.end = () => {
        this.needsFlush = false;
        resolve();
      };
    });
  }
}

test('[LOG20] a commit that nobody waits for is flushed on demand, once', async () => {
  const log = new HeldLog();
  const commits = new Commits(log, () => {});
  expect(commits.durability()).toBeUndefined();
  commits.flush();
  commits.flush();
  expect(log.count).toBe(1);
  let isDurable = false;
  const durable = commits.durability()?.then(() => {
    isDurable = true;
  });
  await Promise.resolve();
  expect(isDurable).toBe(false);
  log.end();
  await durable;
  expect(isDurable).toBe(true);
  commits.flush();
  expect(log.count).toBe(1);
});

test('[LOG23] commits that nobody waits for share a flush, which whoever waits for them starts', async () => {
  let count = 0;
  const log = {
    needsFlush: false,
    flush() {
      count++;
      log.needsFlush = false;
    },
  };
  const putOff: (() => void)[] = [];
  const commits = new Commits(
    log,
    () => expect.unreachable(),
    undefined,
    (_, task) => putOff.push(task),
  );
  const commit = (confirmed: boolean) => {
    commits.written({ confirmed });
    log.needsFlush = true;
    commits.committed();
  };
  for (let i = 0; i < 5; i++) commit(false);
  expect(count).toBe(0);
  expect(putOff.length).toBe(1);
  putOff.pop()!();
  expect(count).toBe(1);
  expect(commits.durability()).toBeUndefined();

  commit(false);
  await commits.durability();
  expect(count).toBe(2);

  commit(false);
  commit(true);
  expect(count).toBe(3);

  commit(false);
  commits.flush();
  expect(count).toBe(4);

  // The delay that had begun is over, and has nothing left to do.
  putOff.pop()!();
  expect(count).toBe(4);
});

test.each([
  ['durability', (commits: Commits) => commits.durability()],
  ['flush', (commits: Commits) => commits.flush()],
])('[LOG23] %s of commits that were put off rejects when it fails', async (_, wait) => {
  const failures: unknown[] = [];
  const log = {
    needsFlush: true,
    flush() {
      throw new Error('no disk');
    },
  };
  const commits: Commits = new Commits(
    log,
    (error) => {
      failures.push(error);
      commits.fail(error);
    },
    undefined,
    () => {},
  );
  commits.written({ confirmed: false });
  commits.committed();
  await expect(wait(commits)).rejects.toThrow('no disk');
  expect(failures.length).toBe(1);
});

describe('[TX16] whose commit a write is', () => {
  const [a, b] = ['a', 'b'].map((method) => annotationOf({ kind: 'call', method }));
  const of = (author = a): CommitScope => ({ author, policy: UNRESTRICTED, hasWritten: false });

  /** Authors over a transaction that is open as told; `running` is whose code runs. */
  function make() {
    const now = { running: of(), isPending: false, isImplicit: true, ended: 0 };
    const authors = new CommitAuthors({ annotate() {} }, { scope: () => now.running });
    const transactions = {
      get isPending() {
        return now.isPending;
      },
      get isImplicit() {
        return now.isImplicit;
      },
      commitImplicit() {
        now.ended += 1;
        now.isPending = false;
      },
    };
    const write = () => {
      authors.beforeWrite(transactions);
      if (!now.isPending && now.isImplicit) authors.begin();
      now.isPending = now.isImplicit;
      authors.mustHaveAsked(transactions);
    };
    return { now, authors, transactions, write };
  }

  test('a write of code that has not asked is a defect, except in a transaction that was begun', () => {
    const { now, authors, transactions, write } = make();
    write();
    authors.mustHaveAsked(transactions);
    now.running = of(b);
    const unasked = () => authors.mustHaveAsked(transactions);
    expect(unasked).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
    now.isImplicit = false;
    expect(unasked).not.toThrow();
  });

  test('what another author has written is committed before; what the same one has is not', () => {
    const { now, write } = make();
    write();
    now.running = of(a);
    write();
    expect(now.ended).toBe(0);
    now.running = of(b);
    write();
    write();
    expect(now.ended).toBe(1);
  });

  test('code that goes on after another author has written is a defect: its writes would be two commits', () => {
    const { now, write } = make();
    const first = now.running;
    write();
    now.running = of(b);
    write();
    now.running = first;
    expect(write).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
    expect(now.ended).toBe(1);
  });
});
