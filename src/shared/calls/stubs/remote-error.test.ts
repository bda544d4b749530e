import { afterEach, expect, test, vi } from 'vitest';
import { remoteError, withCallers } from './remote-error.ts';

afterEach(() => vi.restoreAllMocks());

function failed(stack: string): Error {
  const error = new Error('failed');
  Object.defineProperty(error, 'stack', { value: stack, writable: true, configurable: true });
  return remoteError(error) as Error;
}

test('[TWO9] the callers of a failed call stand in its stack', async () => {
  const ask = async () => {
    await Promise.resolve();
    throw withCallers(failed('Error: failed\n    at theObject'));
  };
  const theCaller = async () => await ask();
  const { stack } = await theCaller().catch((error: Error) => error);
  expect(stack).toMatch(
    /^Error: failed\n {4}at theObject\n {4}at (process.*\n {4}at )?(async )?theCaller/,
  );
});

test('[TWO9] no caller is lost where stacks have no headline', () => {
  vi.spyOn(Error, 'captureStackTrace').mockImplementation((site: { stack?: string }) => {
    site.stack = 'ask@page.js:1:1\nasync*theCaller@page.js:2:1\nasync*@page.js:3:1\n';
  });
  const { stack } = withCallers(failed('theObject@worker.js:1:1\n')) as Error;
  expect(stack).toBe('theObject@worker.js:1:1\nasync*theCaller@page.js:2:1\nasync*@page.js:3:1');
});
