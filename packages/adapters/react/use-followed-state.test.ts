import '../testing/dom.ts';

import { act, createElement as h, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { renderToString } from 'react-dom/server';
import { expect, test } from 'vitest';
import { setFollowed } from '../../../src/shared/calls/stubs/followed-calls.ts';
import { UNKNOWN_FOLLOW_STATE } from '../../../src/shared/contract/followed.ts';
import { followed } from '../../follow/app/followed.ts';
import { useFollowedState } from './index.ts';

test('[FOLP12] a badge shows each state, and asks for no further state once it is unmounted', async () => {
  const asked: number[] = [];
  let tell = (_state: object) => {};
  const stub = {};
  setFollowed(stub, {
    address: { className: 'Room', id: 'a' } as never,
    ask: ((_address: unknown, ask: { after: number }) => {
      asked.push(ask.after);
      return new Promise((resolve) => {
        tell = resolve;
      });
    }) as never,
  });
  const status = followed(stub);
  const Badge = () => {
    const { state, pending, refused } = useFollowedState(status);
    return [state, pending, refused].join(' ');
  };
  expect(renderToString(h(Badge))).toBe('offline 0 0');
  const element = document.createElement('p');
  const root = createRoot(element);
  await act(async () => root.render(h(StrictMode, null, h(Badge))));
  await act(async () =>
    tell({ ...UNKNOWN_FOLLOW_STATE, state: 'current', pending: 2, version: 7 }),
  );
  expect(element.textContent).toBe('current 2 0');
  await act(async () => root.unmount());
  await act(async () => tell({ ...UNKNOWN_FOLLOW_STATE, refused: 1, version: 8 }));
  expect(asked.at(-1)).toBe(7);
  expect(status.refused).toBe(1);
});
