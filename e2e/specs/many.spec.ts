// More objects than may have their files open at once, in real browsers.

import { openBlank } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG } from '../browsers/tags.ts';
import type { Book } from './pages/many-worker.ts';

test('[MANY2] [MANY3] [MANY6] 32 objects of two tabs share 24 handles: nothing is lost, used objects stay, and a list comes in parts', {
  tag: LONG,
}, async ({ context, server }) => {
  const one = await openBlank(await context.newPage(), server);
  const two = await openBlank(await context.newPage(), server);
  const addAll = (tab: number) =>
    (tab === 1 ? one : two).evaluate(async (tab) => {
      const start = () => new Worker('/e2e/specs/pages/many-worker.ts', { type: 'module' });
      const { env } = await window.api.connect<{ Book: Book }>(start, { directory: 'many' });
      const held = env.Book.getByName(`held ${tab}`);
      await held.add(); // an object that stored nothing may be forgotten
      const [before, during] = [await held.made(), held.hold()];
      const names = Array.from({ length: 30 }, (_, n) => `book ${n}`);
      const counts = await Promise.all(names.map((name) => env.Book.getByName(name).add()));
      const { most } = await held.handles();
      const after = await held.made();
      await held.release();
      return { counts, most, isSame: after === before && (await during) === before };
    }, tab);
  const first = await addAll(1);
  expect(first.counts).toEqual(Array(30).fill(1));
  const second = await addAll(2);
  expect(second.counts).toEqual(Array(30).fill(2));
  expect([first.isSame, second.isSame]).toEqual([true, true]);
  expect(second.most).toBeLessThanOrEqual(24);
  expect(second.most).toBeGreaterThan(12);

  const listed = await two.evaluate(async () => {
    const start = () => new Worker('/e2e/specs/pages/many-worker.ts', { type: 'module' });
    const objects = await window.api.connect<{ Book: Book }>(start, { directory: 'many' });
    const parts: string[][] = [];
    let startAfter: string | undefined;
    for (;;) {
      const part = await objects.list('Book', { limit: 12, ...(startAfter && { startAfter }) });
      if (part.length === 0) break;
      parts.push(part.map(({ id }) => String(id)));
      startAfter = parts.at(-1)!.at(-1)!;
    }
    const all = (await objects.list('Book')).map(({ id }) => String(id));
    return { parts, all };
  });
  expect(listed.all).toHaveLength(32);
  expect(listed.parts.flat()).toEqual(listed.all);
  expect(listed.all).toEqual([...listed.all].sort());
});
