// The browser is killed as the operating system would kill it, in the middle of writes.

import { KillLoop, type Victim } from '../break/torture/kill-loop.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG, RELEASE, REST } from '../browsers/tags.ts';

/** For each victim, the writes of each round. After one without its browser, a round takes many seconds to start it. */
const ROUNDS: Readonly<Record<Victim, readonly number[]>> = {
  renderer: [25, 60, 40, 10, 80],
  browser: [25, 60, 10],
};

for (const [victim, rounds] of Object.entries(ROUNDS) as [Victim, readonly number[]][]) {
  test(`[DUR5] no acknowledged write is lost when the ${victim} is killed in the middle of writes`, {
    tag: victim === 'browser' ? LONG : [REST, RELEASE],
  }, async ({ profile, server }) => {
    const loop = new KillLoop(profile, server);
    for (const writes of rounds) {
      expect((await loop.round(victim, writes)).faults).toEqual([]);
    }
    const { acknowledged, faults } = await loop.finish();
    expect(faults).toEqual([]);
    expect(acknowledged).toBeGreaterThanOrEqual(rounds.reduce((sum, writes) => sum + writes));
  });
}
