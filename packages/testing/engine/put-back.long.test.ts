// Known defects, each put back into a bundle of the sources, which runs as a separate process. A simulator that cannot fail
// proves nothing.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { PutBack } from './put-back/defect.ts';
import { ROOT, withEdit } from './put-back/defective-simulator.ts';
import { FIRST_OF_LAYERS, findsPutBack, PUT_BACKS } from './put-back/put-back.ts';

const others = PUT_BACKS.filter((putBack) => !FIRST_OF_LAYERS.includes(putBack));

const expectFound = async (putBack: PutBack) =>
  expect(await findsPutBack(putBack)).toMatch(/^seed \d+: /);

test.each(FIRST_OF_LAYERS)('[SIM4] the simulator fails if $name', expectFound);

test.each(others)('[SIM4] the simulator fails if $name', { tags: 'release' }, expectFound);

test('[SIM4] the edits of each known defect change the sources as they are', () => {
  for (const { edits, name } of PUT_BACKS) {
    const sources = new Map<string, string>();
    for (const edit of edits) {
      const before = sources.get(edit.file) ?? readFileSync(join(ROOT, edit.file), 'utf8');
      const after = withEdit(before, edit);
      expect(after, name).not.toBe(before);
      sources.set(edit.file, after);
    }
  }
});
