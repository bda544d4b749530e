// Runs the large walks of the protocol's model, and checks that the model finds each defect that is put into it.

import { expect, test } from 'vitest';
import { explore } from './model/explore.ts';
import { nameOf, scenario } from './model/scenario.ts';
import {
  ALL_DEFECTS,
  HOSTILE_SERVER_WALKS,
  HOSTILE_WALKS,
  LARGE_WALKS,
  nameOfHostileServer,
  runHostileServerWalk,
  runWalk,
} from './model/walks.ts';

test.each(LARGE_WALKS.map((walk) => [nameOf(walk), walk] as const))(
  '[FOLW13] all promises hold: %s',
  (_, walk) => {
    const { states, failure } = runWalk(walk);
    expect(failure).toBeNull();
    expect(states).toBeGreaterThan(1000);
  },
);

test.each(HOSTILE_WALKS.map((walk) => [nameOf(walk), walk] as const))(
  '[FOLW20] all promises hold beside a hostile follower: %s',
  (_, walk) => {
    const { states, failure } = runWalk(walk);
    expect(failure).toBeNull();
    expect(states).toBeGreaterThan(1000);
  },
);

test('[FOLW20] the server closes the connections of a hostile follower for every reason of the protocol', () => {
  const kinds = ['write', 'slow'] as const;
  const walks = [
    scenario('', { hostile: 4 }),
    scenario('', { hostile: 2 }, { hostile: { connections: 2, kinds } }),
  ];
  const reasons = walks.flatMap((walk) => [...explore(walk).closeReasons]);
  expect([...new Set(reasons)].sort()).toEqual([
    ...['ACK_AHEAD', 'CALL_GAP', 'CLIENT_TAKEN', 'HELLO_FIRST', 'HELLO_TWICE', 'MALFORMED'],
    ...['NOT_COPYING', 'NOT_READING', 'PROTOCOL', 'REPLACED', 'TOO_MANY_CALLS'],
  ]);
});

test('[FOLW20] steps that the model leaves out break no promise either', () => {
  const walk = scenario('A write', { hostile: 2 });
  const all = runWalk(walk, { takesEveryStep: true });
  expect(all.failure).toBeNull();
  expect(all.states).toBeGreaterThan(runWalk(walk).states);
});

test.each(HOSTILE_SERVER_WALKS.map((walk) => [nameOfHostileServer(walk), walk] as const))(
  '[FOLW21] a follower goes on or closes its connection, and loses no call: %s',
  (_, walk) => {
    const { states, failure } = runHostileServerWalk(walk);
    expect(failure).toBeNull();
    expect(states).toBeGreaterThan(1000);
  },
);

test.each(ALL_DEFECTS.map((defect) => [defect.name, defect] as const))(
  '[FOLW14] a broken promise refutes the defect: %s',
  (_, { refutation }) => {
    expect(refutation()?.failure).toEqual(expect.any(String));
  },
);
