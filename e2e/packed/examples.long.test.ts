// The examples of docs/examples, with the packed package: their types.

import { expect, test } from 'vitest';
import { copyExample, exampleNames, removeExample, runScript } from '../package/copied-example.ts';

test.each(exampleNames())('[DOC5] %s compiles with the types of the package', async (name) => {
  const folder = await copyExample(name);
  try {
    expect(runScript(folder, 'check')).toBe('');
  } finally {
    removeExample(folder);
  }
});
