import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ERRORS } from './error-codes.ts';

test('[MG40] the table of codes in the documentation is the one in the code', () => {
  const text = readFileSync(new URL('../../../docs/management.md', import.meta.url), 'utf8');
  const documented = [...text.matchAll(/^(\d+) \| (\d+) \| (.+?)(?: \((described|known)\))?$/gm)];
  const rows = documented.map(([, code, status, meaning, origin = 'invented']) => ({
    code: Number(code),
    status: Number(status),
    origin,
    meaning,
  }));
  const codes = Object.values(ERRORS).sort((a, b) => a.code - b.code);
  expect(rows).toEqual(codes);
  expect(new Set(codes.map(({ code }) => code)).size).toBe(codes.length);
});
