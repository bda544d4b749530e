// Who may write to an object that is a copy, that has followers, or neither.

import { expect, test } from 'vitest';
import { type ObjectPolicies, policiesOf } from './object-policies.ts';

const messages = ({ ofCode, ofHandles }: ObjectPolicies) =>
  [ofCode, ofHandles].map(({ refusal }) => refusal?.().message ?? null);

test('[FOLP27] of an object with followers, only its class writes', () => {
  expect(messages(policiesOf(false, false))).toEqual([null, null]);
  expect(messages(policiesOf(false, true))).toEqual([
    null,
    expect.stringMatching(/^The object has followers/),
  ]);
});

test('[FOLP8] nobody writes to a copy, also if its class could have followers', () => {
  const isCopy = expect.stringMatching(/^The object is a copy of one on a server/);
  expect(messages(policiesOf(true, false))).toEqual([isCopy, isCopy]);
  expect(messages(policiesOf(true, true))).toEqual([isCopy, isCopy]);
});
