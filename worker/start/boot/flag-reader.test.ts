import { expect, test } from 'vitest';
import { flagReader } from './browser-host.ts';

test('[CANCEL9] a flag is revoked when it cannot be loaded and one of the worker can', () => {
  const there = new Set(['blob:call', 'blob:own']);
  const isRevoked = flagReader(
    (url) => there.has(url),
    () => 'blob:own',
  );
  expect(isRevoked('blob:call')).toBe(false);
  there.delete('blob:call');
  expect(isRevoked('blob:call')).toBe(true);
});

test('[CANCEL9] where no blob URL can be loaded, no flag counts as revoked, and none is looked at again', () => {
  let loads = 0;
  const refuse = () => {
    loads += 1;
    return false;
  };
  const isRevoked = flagReader(refuse, () => 'blob:own');
  expect([isRevoked('blob:call'), isRevoked('blob:call'), isRevoked('blob:other')]).toEqual([
    false,
    false,
    false,
  ]);
  expect(loads).toBe(2);
});

test('[CANCEL9] a request that fails by chance revokes nothing', () => {
  let count = 0;
  const isRevoked = flagReader(
    () => ++count !== 1,
    () => 'blob:own',
  );
  expect(isRevoked('blob:call')).toBe(false);
  expect(count).toBe(3);
});
