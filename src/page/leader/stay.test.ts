// How long a page stays for its calls as it goes away.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { browserEnvironment } from './browser.ts';

let nowMs: number;
let page: EventTarget;
let shown: EventTarget;

beforeEach(() => {
  nowMs = 0;
  page = new EventTarget();
  shown = new EventTarget();
  vi.stubGlobal('isSecureContext', true);
  vi.stubGlobal('navigator', { locks: {}, storage: undefined });
  vi.stubGlobal('addEventListener', page.addEventListener.bind(page));
  vi.stubGlobal('document', shown);
  stubTime(() => nowMs++);
});
afterEach(() => vi.unstubAllGlobals());

/** The time as a new mark shows it. */
function stubTime(now: () => number): void {
  class Mark {
    readonly startTime = now();
  }
  vi.stubGlobal('PerformanceMark', Mark);
}

/** How long the page is kept by the events, in milliseconds. */
function keptMs(...events: ('pagehide' | 'pageshow' | 'visibilitychange')[]): number {
  const startMs = nowMs;
  for (const type of events) {
    // It bubbles from the document to the window.
    if (type === 'visibilitychange') shown.dispatchEvent(new Event(type));
    page.dispatchEvent(new Event(type));
  }
  return nowMs - startMs;
}

/** The clock of the test moves on by a little each time it is read. */
const isAbout50 = (durationMs: number) => durationMs >= 50 && durationMs < 60;

test('[CONN14] a page with unanswered calls stays for 50 ms as it goes away, and otherwise never', () => {
  let isUnderWay = true;
  const leave = browserEnvironment('openStorage').stayFor(() => isUnderWay);
  expect(keptMs('visibilitychange')).toBe(0); // another tab is shown
  expect(keptMs('pagehide')).toSatisfy(isAbout50);
  expect(keptMs('visibilitychange')).toSatisfy(isAbout50);
  expect(keptMs('pageshow', 'visibilitychange')).toBe(0); // it is back
  isUnderWay = false;
  expect(keptMs('pagehide', 'visibilitychange')).toBe(0);
  isUnderWay = true;
  leave();
  expect(keptMs('pagehide', 'visibilitychange')).toBe(0);
});

test('[CONN14] calls that the app makes at pagehide or visibilitychange are stayed for, whoever listened first', () => {
  let isUnderWay = false;
  browserEnvironment('openStorage').stayFor(() => isUnderWay);
  page.addEventListener('pagehide', () => {
    isUnderWay = true;
  });
  expect(keptMs('pagehide')).toBe(0);
  expect(keptMs('visibilitychange')).toSatisfy(isAbout50);
  isUnderWay = false;
  shown.addEventListener('visibilitychange', () => {
    isUnderWay = true;
  });
  expect(keptMs('visibilitychange')).toSatisfy(isAbout50);
});

test('[CONN14] the page stays, too, if the browser aborts the script that runs then', () => {
  const listeners: ((event: Event) => void)[] = [];
  vi.stubGlobal('addEventListener', (type: string, listener: (event: Event) => void) => {
    if (type === 'pagehide') listeners.push(listener);
  });
  browserEnvironment('openStorage').stayFor(() => true);
  let abortsAtMs = 7;
  stubTime(() => {
    if (nowMs === abortsAtMs) {
      abortsAtMs = Number.NaN;
      throw new Error('aborted');
    }
    return nowMs++;
  });
  const event = new Event('pagehide');
  let aborted = 0;
  for (const listener of listeners) {
    try {
      listener(event);
    } catch {
      aborted += 1;
    }
  }
  expect([aborted, nowMs >= 50, nowMs < 60]).toEqual([1, true, true]);
});
