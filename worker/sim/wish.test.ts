import { expect, test } from 'vitest';
import type { Known } from './history.ts';
import { type Asked, Wish } from './wish.ts';

const known = { text: 'bookmark' } as Known;
const acknowledged: Asked = { known, undo: null, isAcknowledged: true };

test('[SIM1] a restore that was acknowledged must be made, until an opening has refused it', () => {
  const wish = new Wish([acknowledged]);
  expect(wish.isCertain).toBe(true);
  wish.interrupted(() => false); // nothing could be refused
  expect(wish.isCertain).toBe(true);
  const elsewhere = wish.copy();
  wish.refused('sound');
  expect(wish).toMatchObject({ isCertain: false, asked: [] });
  wish.interrupted(() => true); // and it stays refused
  expect(wish.asked).toEqual([]);
  expect(elsewhere.isCertain).toBe(true);
});

test('[SIM1] a refusal that nobody heard, or on a failing disk, leaves both ways open', () => {
  const unheard = new Wish([acknowledged]);
  unheard.interrupted(() => true);
  const failing = new Wish([acknowledged]);
  failing.refused('failing');
  for (const wish of [unheard, failing]) {
    expect(wish).toMatchObject({ isCertain: false, asked: [acknowledged] });
  }
});

test('[SIM1] a restore that was not acknowledged may be made or not', () => {
  const wish = new Wish([{ ...acknowledged, isAcknowledged: false }]);
  expect(wish.isCertain).toBe(false);
  expect(wish.asked).toHaveLength(1);
});
