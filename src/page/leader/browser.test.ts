import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { browserEnvironment } from './browser.ts';

beforeEach(() => {
  vi.stubGlobal('isSecureContext', true);
  vi.stubGlobal('navigator', { locks: {} });
});
afterEach(() => vi.unstubAllGlobals());

test('[START30] a browser without a function that is needed is BROWSER_TOO_OLD, with the oldest browsers', () => {
  expect(() => browserEnvironment('openStorage')).not.toThrow();
  vi.stubGlobal('AbortSignal', class {});
  expect(() => browserEnvironment('openStorage')).toThrow(
    expect.objectContaining({
      code: 'BROWSER_TOO_OLD',
      message: expect.stringMatching(
        /^openStorage: .*no AbortSignal\.any.*Chromium 116, Firefox 124, Safari 17\.4/,
      ),
    }),
  );
});
