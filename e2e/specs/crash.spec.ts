// The browser is killed as the operating system would kill it, in the middle of writes.

import { KillLoop, type Victim } from '../break/torture/kill-loop.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG, RELEASE, REST } from '../browsers/tags.ts';

const VICTIMS: readonly Victim[] = ['renderer', 'browser'];

for (const victim of VICTIMS) {
  test(`[DUR5] no acknowledged write is lost when the ${victim} is killed in the middle of writes`, {
    // A browser starts again in each round.
    tag: victim === 'browser' ? LONG : [REST, RELEASE],
  }, async ({ profile, server }) => {
    const loop = new KillLoop(profile, server);
    for (const writes of [25, 60, 40, 10, 80]) {
      expect((await loop.round(victim, writes)).faults).toEqual([]);
    }
    const { acknowledged, faults } = await loop.finish();
    expect(faults).toEqual([]);
    expect(acknowledged).toBeGreaterThanOrEqual(215);
  });
}
