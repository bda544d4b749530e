import { expect, test } from 'vitest';
import { DurableObjectStorage } from './durable-object-storage.ts';
import { deleteAllDeletesAlarm } from './storage-environment.ts';

test('[BE3] the compatibility date decides, and without one the alarm stays', () => {
  const dates = [undefined, '2025-01-01', '2026-02-23', '2026-02-24', '2027-01-01'];
  const decided = dates.map((compatibilityDate) =>
    deleteAllDeletesAlarm(compatibilityDate === undefined ? {} : { compatibilityDate }),
  );
  expect(decided).toEqual([false, false, false, true, true]);
});

test('[SQL19] a class of the platform cannot be constructed, and the error names the way out', () => {
  const Storage = DurableObjectStorage as unknown as new () => unknown;
  expect(() => new Storage()).toThrow(
    expect.objectContaining({
      name: 'TypeError',
      code: 'ILLEGAL_INVOCATION',
      message: 'DurableObjectStorage cannot be constructed; use ctx.storage.',
    }),
  );
});
