// Merges of two tabs of a browser at once, on both media: each is one whole commit, or CONFLICT, or is not made.
//
// Invariant: before the merges of a round, the tabs wait for each other, so that both calls are under way together.

import type { StorageChange, StorageHandle } from '../../src/index.ts';
import { expect, test } from '../browsers/fixtures.ts';
import type { Served } from '../browsers/server.ts';
import type { Tab, TabBrowser } from '../browsers/tabs.ts';
import { LONG, ONCE, RELEASE } from '../browsers/tags.ts';

declare global {
  interface Window {
    storageOf: (name: string) => Promise<StorageHandle>;
    /** Resolves when the other tab has called it as often. */
    meet: () => Promise<void>;
  }
}

const ROUNDS = 6;
/** How many keys a branch changes. */
const KEYS = 20;

type Choice = { readonly medium?: 'indexeddb' };

async function openPair(
  tabs: TabBrowser,
  server: Served,
  choice: Choice,
): Promise<readonly [Tab, Tab]> {
  const open = async () => {
    const tab = await tabs.openTab(`${server.origin}/e2e/specs/pages/blank.html`);
    await expect.poll(() => tab.evaluate(() => 'api' in window, null)).toBe(true);
    await tab.evaluate(async (choice) => {
      const { env, storage } = await window.api.connectRooms(choice);
      window.storageOf = (name) => storage(env.Room.getByName(name));
      const channel = new BroadcastChannel('meet');
      let own = 0;
      let other = 0;
      let leave = () => {};
      channel.onmessage = ({ data }) => {
        other = data;
        if (other >= own) leave();
      };
      window.meet = () => {
        own += 1;
        channel.postMessage(own);
        if (other >= own) return Promise.resolve();
        return new Promise((resolve) => {
          leave = resolve;
        });
      };
    }, choice);
    return tab;
  };
  return [await open(), await open()];
}

/** The changes of each commit that a merge has made, by its bookmark, as short texts. */
async function mergesOf(tab: Tab, name: string): Promise<Map<string, string[]>> {
  const merges = await tab.evaluate(async (name) => {
    const storage = await window.storageOf(name);
    const commits = await storage.history({ limit: 1000 });
    const textOf = (change: StorageChange) => {
      if (change.kind === 'key') return `${change.key} = ${change.after}`;
      return change.kind === 'row' ? `${change.table} ${change.after?.id}` : change.kind;
    };
    const found: [string, string[]][] = [];
    for (const [i, { bookmark, by }] of commits.entries()) {
      if (by?.kind !== 'merge') continue;
      const changes: string[] = [];
      for await (const change of storage.diff(commits[i + 1]!.bookmark, bookmark)) {
        changes.push(textOf(change));
      }
      found.push([bookmark, changes.sort()]);
    }
    return found;
  }, name);
  return new Map(merges);
}

/** All that one branch has changed. */
function wholeOf(who: number, round: number): string[] {
  const keys = Array.from({ length: KEYS }, (_, i) => `${who} ${round} ${i} = ${who}`);
  return [...keys, `t ${who * 1000 + round}`].sort();
}

for (const medium of ['opfs', 'indexeddb'] as const) {
  const choice = medium === 'opfs' ? {} : { medium };
  const tag = medium === 'opfs' ? [LONG] : [LONG, RELEASE];

  test.describe(`on ${medium}`, () => {
    test('[MERGE7] two tabs merge two branches at once, while both write: each is one whole commit', {
      tag,
    }, async ({ tabs, server }) => {
      const pair = await openPair(tabs, server, choice);
      await pair[0].evaluate(async () => {
        const storage = await window.storageOf('two branches');
        await storage.sql.exec('CREATE TABLE t (id INTEGER PRIMARY KEY)').ready;
      }, null);
      const made = await Promise.all(
        pair.map((tab, who) =>
          tab.evaluate(
            async ({ who, rounds, keys }) => {
              const storage = await window.storageOf('two branches');
              const bookmarks: string[] = [];
              for (let round = 0; round < rounds; round++) {
                const branch = await storage.fork();
                const values = Array.from({ length: keys }, (_, i) => [
                  `${who} ${round} ${i}`,
                  who,
                ]);
                await branch.put(Object.fromEntries(values));
                await branch.sql.exec('INSERT INTO t VALUES (?)', who * 1000 + round).ready;
                await window.meet();
                const merging = storage.merge(branch);
                await storage.put(`beside ${who} ${round}`, who);
                bookmarks.push((await merging)!);
                await branch.close();
              }
              return bookmarks;
            },
            { who, rounds: ROUNDS, keys: KEYS },
          ),
        ),
      );
      const expected = made.flatMap((bookmarks, who) =>
        bookmarks.map((bookmark, round) => [bookmark, wholeOf(who, round)] as const),
      );
      expect(expected).toHaveLength(2 * ROUNDS);
      expect(await mergesOf(pair[1], 'two branches')).toEqual(new Map(expected));
      const beside = await pair[0].evaluate(async () => {
        const storage = await window.storageOf('two branches');
        return (await storage.list({ prefix: 'beside ' })).size;
      }, null);
      expect(beside).toBe(2 * ROUNDS);
    });

    test('[MERGE4] [MERGE7] two tabs merge two branches with the same key at once: one is whole, the other CONFLICT', {
      tag,
    }, async ({ tabs, server }) => {
      const pair = await openPair(tabs, server, choice);
      await pair[0].evaluate(async () => {
        await (await window.storageOf('same key')).put('same', 'base');
      }, null);
      const outcomes = await Promise.all(
        pair.map((tab, who) =>
          tab.evaluate(
            async ({ who, rounds }) => {
              const storage = await window.storageOf('same key');
              const made: string[] = [];
              for (let round = 0; round < rounds; round++) {
                await window.meet(); // the merges before are over
                const branch = await storage.fork();
                await branch.put({ same: `${who} ${round}`, [`${who} ${round}`]: who });
                await window.meet();
                made.push(await storage.merge(branch).catch((error) => error.code));
                await branch.close();
              }
              return made;
            },
            { who, rounds: ROUNDS },
          ),
        ),
      );
      const merges = await mergesOf(pair[1], 'same key');
      expect(merges.size).toBe(ROUNDS);
      for (let round = 0; round < ROUNDS; round++) {
        const ofRound = outcomes.map((made) => made[round]!);
        const loser = ofRound.indexOf('CONFLICT');
        expect(ofRound[loser], `round ${round}: ${ofRound}`).toBe('CONFLICT');
        const winner = 1 - loser;
        expect(merges.get(ofRound[winner]!)).toEqual([
          `${winner} ${round} = ${winner}`,
          `same = ${winner} ${round}`,
        ]);
      }
    });

    test('[MERGE7] two tabs merge the same kept branch at once: one commit, of which one gets the bookmark, and the other null', {
      tag: [...tag, ONCE, RELEASE],
    }, async ({ tabs, server }) => {
      const pair = await openPair(tabs, server, choice);
      await pair[0].evaluate(async () => {
        const storage = await window.storageOf('one branch');
        await storage.sql.exec('CREATE TABLE t (id INTEGER PRIMARY KEY)').ready;
        await storage.fork({ name: 'draft', keep: true });
      }, null);
      const [one, two] = await Promise.all(
        pair.map((tab, who) =>
          tab.evaluate(
            async ({ who, rounds, keys }) => {
              const storage = await window.storageOf('one branch');
              const branch = await storage.openBranch('draft');
              const bookmarks: (string | null)[] = [];
              for (let round = 0; round < rounds; round++) {
                await window.meet(); // the merges before are over
                if (who === round % 2) {
                  const values = Array.from({ length: keys }, (_, i) => [`0 ${round} ${i}`, 0]);
                  await branch.put(Object.fromEntries(values));
                  await branch.sql.exec('INSERT INTO t VALUES (?)', round).ready;
                }
                await window.meet();
                bookmarks.push(await storage.merge(branch));
              }
              return bookmarks;
            },
            { who, rounds: ROUNDS, keys: KEYS },
          ),
        ),
      );
      const made = one!.map((bookmark, round) =>
        [bookmark, two![round]!].filter((b) => b !== null),
      );
      expect(made.map(({ length }) => length)).toEqual(Array(ROUNDS).fill(1));
      expect(await mergesOf(pair[1], 'one branch')).toEqual(
        new Map(made.map(([bookmark], round) => [bookmark!, wholeOf(0, round)])),
      );
    });

    test('[MERGE7] the worker is terminated while two tabs merge: repeated, each merge is one whole commit', {
      tag: [...tag, RELEASE],
    }, async ({ tabs, server }) => {
      const pair = await openPair(tabs, server, choice);
      await pair[0].evaluate(
        async ({ rounds, keys }) => {
          const storage = await window.storageOf('terminated');
          await storage.sql.exec('CREATE TABLE t (id INTEGER PRIMARY KEY)').ready;
          for (const who of [0, 1]) {
            for (let round = 0; round < rounds; round++) {
              const branch = await storage.fork({ name: `${who} ${round}`, keep: true });
              const values = Array.from({ length: keys }, (_, i) => [`${who} ${round} ${i}`, who]);
              await branch.put(Object.fromEntries(values));
              await branch.sql.exec('INSERT INTO t VALUES (?)', who * 1000 + round).ready;
              await branch.close();
            }
          }
        },
        { rounds: ROUNDS, keys: KEYS },
      );
      const interrupted = await Promise.all(
        pair.map((tab, who) =>
          tab.evaluate(
            async ({ who, rounds }) => {
              let interrupted = 0;
              const repeated = async <T>(action: () => Promise<T>): Promise<T> => {
                for (;;) {
                  try {
                    return await action();
                  } catch (error) {
                    if ((error as { retryable?: boolean }).retryable !== true) throw error;
                    interrupted += 1;
                  }
                }
              };
              const storage = await window.storageOf('terminated');
              for (let round = 0; round < rounds; round++) {
                const branch = await repeated(() => storage.openBranch(`${who} ${round}`));
                await window.meet();
                const merging = repeated(() => storage.merge(branch));
                if (who === round % 2) {
                  for (let turn = 0; turn < round; turn++) await new Promise((r) => setTimeout(r));
                  window.api.workers.at(-1)!.terminate();
                }
                await merging;
                await branch.close();
              }
              return interrupted;
            },
            { who, rounds: ROUNDS },
          ),
        ),
      );
      expect(interrupted[0]).toBeGreaterThan(0); // its own worker led in the first round
      const merges = await mergesOf(pair[1], 'terminated');
      const expected = [0, 1].flatMap((who) =>
        Array.from({ length: ROUNDS }, (_, round) => wholeOf(who, round)),
      );
      expect([...merges.values()].sort()).toEqual(expected.sort());
    });
  });
}
