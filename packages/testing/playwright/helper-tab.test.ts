// Tests how the helper page is opened and shared, with a fake browser context.

import type { BrowserContext } from '@playwright/test';
import { expect, test } from 'vitest';
import { HelperTab } from './helper-tab.ts';
import { type HelperRequest, toText } from './page/helper-protocol.ts';

const request = { op: 'classNames', facts: {}, waitMs: 1000 } as unknown as HelperRequest;

/**
 * Makes a context whose pages answer, unless `isSecure` is false: then they are not in a secure context. It counts the
 * pages that it has opened.
 */
function contextOf({ isSecure = true } = {}) {
  const opened: { isOpen: boolean }[] = [];
  const newPage = async () => {
    const state = { isOpen: true };
    opened.push(state);
    return {
      route: async () => {},
      goto: async () => {},
      waitForFunction: async () => {},
      evaluate: async (_: unknown, given?: unknown) =>
        given === undefined ? isSecure : toText({ ok: opened.length }),
      close: async () => {
        state.isOpen = false;
      },
      isClosed: () => !state.isOpen,
    };
  };
  return { opened, context: { newPage } as unknown as BrowserContext };
}

test('[HARN1] calls at once, the first ones too, share one helper page', async () => {
  const { opened, context } = contextOf();
  const tab = new HelperTab(context, 'http://localhost:5173');
  expect(await Promise.all([1, 2, 3].map(() => tab.ask(request)))).toEqual([1, 1, 1]);
  opened[0]!.isOpen = false; // the test has closed all pages
  expect(await Promise.all([1, 2, 3].map(() => tab.ask(request)))).toEqual([2, 2, 2]);
});

test('[HARN4] an origin that is not secure is named at once, and no page is left', async () => {
  const { opened, context } = contextOf({ isSecure: false });
  const tab = new HelperTab(context, 'http://example.test');
  for (const count of [1, 2]) {
    await expect(tab.ask(request)).rejects.toThrow(/http:\/\/example.test is not a secure context/);
    expect(opened).toHaveLength(count);
  }
  expect(opened.every(({ isOpen }) => !isOpen)).toBe(true);
});
