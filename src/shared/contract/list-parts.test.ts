import { expect, test } from 'vitest';
import { type ListPart, listParts } from './list-parts.ts';
import { DurableObjectId } from './object-id.ts';

const idOf = (n: number) => n.toString(16).padStart(64, '0');

/** A server of `count` objects, and the requests it received. */
function serverOf(count: number) {
  const asked: ListPart[] = [];
  const ask = async (part: ListPart) => {
    asked.push(part);
    const ids = Array.from({ length: count }, (_, n) => idOf(n));
    return ids.filter((id) => part.after === null || id > part.after).slice(0, part.limit);
  };
  return { asked, ask };
}

test('[MANY6] a list of any length is gathered in messages of at most 250 objects', async () => {
  for (const [count, ...messages] of [
    [0, 0],
    [1, 1],
    [250, 250, 0],
    [251, 250, 1],
    [1000, 250, 250, 250, 250, 0],
  ] as const) {
    const { asked, ask } = serverOf(count);
    const found = await listParts(undefined, ask, (id) => id);
    expect(found).toEqual(Array.from({ length: count }, (_, n) => idOf(n)));
    expect(asked.map(({ limit }) => limit)).toEqual(messages.map(() => 250));
  }
});

test('[MANY6] limit and startAfter choose a part; startAfter is an id or its text', async () => {
  const { ask } = serverOf(600);
  const startAfter = new DurableObjectId(idOf(99));
  const found = await listParts({ limit: 300, startAfter }, ask, (id) => id);
  expect([found.length, found[0], found.at(-1)]).toEqual([300, idOf(100), idOf(399)]);
  const last = await listParts({ startAfter: idOf(597).toUpperCase() }, ask, (id) => id);
  expect(last).toEqual([idOf(598), idOf(599)]);
});
