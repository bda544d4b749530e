// Hooks in components that a server renders, where the data of the browser does not exist.

import { createElement as h, Suspense } from 'react';
import { renderToString } from 'react-dom/server';
import { expect, test } from 'vitest';
import { LiveValue } from '../../../src/shared/live/live-value.ts';
import { useConnectionStatus, useLive, useLiveValue } from './index.ts';

let isOpened = false;
const live = new LiveValue<string>(
  () => {
    isOpened = true;
    return () => {};
  },
  () => 'value',
);

test('[REACT6] on a server useLive is pending, and useLiveValue leaves the fallback', () => {
  const State = () => useLive(live).status;
  const Value = () => useLiveValue(live);
  expect(renderToString(h(State))).toBe('pending');
  const html = renderToString(h('p', null, h(Suspense, { fallback: 'loading' }, h(Value))));
  expect(html).toContain('loading');
  expect(() => renderToString(h(Value))).toThrow(
    expect.objectContaining({ code: 'NOT_ON_SERVER' }),
  );
  expect(isOpened).toBe(false);
});

test('[REACT6] on a server a connection is connecting', () => {
  const source = { state: 'leading', addEventListener() {}, removeEventListener() {} };
  const Badge = () => useConnectionStatus(source as never).state;
  expect(renderToString(h(Badge))).toBe('connecting');
});
