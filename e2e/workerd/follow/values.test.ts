// The serializer of this package in workerd: messages to followers are made there.

import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { askWorkerd } from '../workerd.ts';
import { valueBytes } from './values.ts';

test.each([[[]], [['nodejs_compat']]])(
  '[FOLS15] values have the same bytes in workerd as here: flags %j',
  async (compatibilityFlags) => {
    const there = await askWorkerd({
      main: `
        import { valueBytes } from './values.ts';
        export default { fetch: () => Response.json(valueBytes()) };`,
      folder: fileURLToPath(new URL('.', import.meta.url)),
      classes: {},
      compatibilityDate: '2026-07-30',
      compatibilityFlags,
    });
    expect(there).toEqual(valueBytes());
  },
);
