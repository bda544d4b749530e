// The content of `process.env`, by the compatibility date and flags of a program. e2e/workerd/differential compares the modules
// and globals of Node with workerd.

import { expect, test } from 'vitest';
import { populatesProcessEnv, processEnvOf } from './node-apis.ts';

test.for<[date: string, flags: string, isPopulated: boolean]>([
  ['2025-03-31', 'nodejs_compat', false],
  ['2025-03-31', 'nodejs_compat nodejs_compat_populate_process_env', true],
  ['2025-04-01', 'nodejs_compat', true],
  ['2025-04-01', '', false],
  ['2025-04-01', 'nodejs_compat nodejs_compat_do_not_populate_process_env', false],
  ['2026-08-04', '', true],
])(
  '[DEV42] process.env of a program of %s with the flags "%s" has the variables: %s',
  ([date, flags, isPopulated]) => {
    expect(populatesProcessEnv(date, flags.split(' '))).toBe(isPopulated);
  },
);

test('[DEV42] process.env has texts as they are, and other values as JSON', () => {
  expect(processEnvOf({ TEXT: '"a"', NUMBER: 5, OBJECT: { a: [1] } })).toEqual({
    TEXT: '"a"',
    NUMBER: '5',
    OBJECT: '{"a":[1]}',
  });
});
