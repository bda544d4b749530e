// Runs a test's call of the harness as a step of its report, at the test's own line.

import { test } from '@playwright/test';
import { type CallSite, callSite, thrownAt } from './call-site.ts';

/** Runs the action as a step of the running test. Outside of a test, it only runs the action. */
export async function runAsStep<T>(title: string, action: () => Promise<T>): Promise<T> {
  const site = callSite();
  const located = () => at(site, action);
  if (!isInTest()) return await located();
  const { place } = site;
  return await test.step(title, located, place === undefined ? {} : { location: place });
}

/** Runs the action. The stack of its errors begins at the place of the call. */
export async function at<T>(site: CallSite, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw thrownAt(error, site);
  }
}

function isInTest(): boolean {
  try {
    test.info();
    return true;
  } catch {
    return false; // outside of a test, Playwright throws
  }
}
