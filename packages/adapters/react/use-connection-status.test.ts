import '../testing/dom.ts';

import { act, createElement as h, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { expect, test } from 'vitest';
import type { Standing } from '../../../src/page/leader/status.ts';
import { Persistence, Status } from '../../../src/page/leader/status.ts';
import type { ConnectionStatus } from '../../../src/shared/contract/connection-status.ts';
import { useConnectionStatus } from './index.ts';

test('[REACT7] a badge follows the connection and the writes, and renders when they change', async () => {
  let standing: Standing = { state: 'following', reason: null, medium: 'opfs' };
  let changed = () => {};
  const source = {
    get standing() {
      return standing;
    },
    isOutdated: false,
    persistence: new Persistence({}),
    onNotice: () => () => {},
    onStanding(told: () => void) {
      changed = told;
      return () => {};
    },
  };
  let now = 1000;
  const status = new Status(source, () => now);
  const handle = status as unknown as ConnectionStatus;
  const shown: string[] = [];
  function Badge() {
    const { state, stateReason, pendingWrites, savedAt } = useConnectionStatus(handle);
    const text = [state, stateReason?.message ?? '-', pendingWrites, savedAt].join(' ');
    shown.push(text);
    return text;
  }
  const element = document.createElement('p');
  const root = createRoot(element);
  await act(async () => root.render(h(StrictMode, null, h(Badge))));
  expect(element.textContent).toBe('following - 0 ');
  let answer = () => {};
  await act(async () => void status.write(new Promise<void>((resolve) => (answer = resolve))));
  expect(element.textContent).toBe('following - 1 ');
  await act(async () => answer());
  expect(element.textContent).toBe('following - 0 1000');

  standing = { state: 'connecting', reason: new Error('gone'), medium: 'opfs' };
  await act(async () => changed());
  expect(element.textContent).toBe('connecting gone 0 1000');

  const count = shown.length;
  await act(async () => status.dispatchEvent(new Event('statechange')));
  expect(shown).toHaveLength(count);

  await act(async () => root.unmount());
  now = 2000;
  await act(async () => void status.write(Promise.resolve()));
  expect(shown).toHaveLength(count);
});
