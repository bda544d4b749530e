// Tests failovers while time stands still, so that a step which waits for a timer never ends.

import { afterEach, expect, test } from 'vitest';
import { type FakeTab, FakeTabs } from '../../../packages/testing/page/fake-tabs.ts';
import { turns } from '../../../packages/testing/page/turns.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';

/** The most turns until a call is answered after the last worker has ended. */
const TURNS_MAX = 150;

let tabs: FakeTabs;
afterEach(() => tabs.close());

const isAlive = ({ workers }: FakeTab) => workers.at(-1)?.isAlive === true;
const leader = (all: readonly FakeTab[]) =>
  all.find((tab) => isAlive(tab) && tab.host !== null) ?? null;

for (const end of ['terminated', 'closed'] as const) {
  test(`[TAB14] workers that are ${end} one after the other, at any moment of a takeover, leave nobody waiting for a timer`, {
    tags: 'long',
  }, async () => {
    const waiting: string[] = [];
    for (let apart = 0; apart < 30; apart++) {
      tabs = new FakeTabs(runCandidate);
      let all = [tabs.tab(), tabs.tab(), tabs.tab(), tabs.tab()];
      const handles = new Map<FakeTab, Awaited<ReturnType<FakeTab['open']>>>();
      for (const tab of all) handles.set(tab, await tab.open());
      for (let ends = 0; ends < 2; ends++) {
        const victim = leader(all) ?? all[0]!;
        if (end === 'terminated') victim.terminateWorker();
        else {
          victim.close();
          all = all.filter((tab) => tab !== victim);
        }
        await turns(apart);
      }
      const answered = new Set<FakeTab>();
      for (const tab of all) {
        const call = async (): Promise<void> => {
          const answer = handles.get(tab)!.get('key');
          await answer.then(
            () => void answered.add(tab),
            (error) => (error.retryable ? call() : void answered.add(tab)),
          );
        };
        void call();
      }
      for (let turn = 0; turn < TURNS_MAX && answered.size < all.length; turn++) await turns(1);
      if (answered.size < all.length) {
        waiting.push(`${all.length - answered.size} of ${all.length} when ${apart} turns apart`);
      }
      await tabs.close();
    }
    expect(waiting).toEqual([]);
  });
}
