// The entry for Vue, in components of a DOM. The tests give the results of the live values.

import '../testing/dom.ts';

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type App, createApp, effectScope, h, nextTick, ref, shallowRef } from 'vue';
import { renderToString } from 'vue/server-renderer';
import type { ConnectionStatus } from '../../../src/shared/contract/connection-status.ts';
import type { UndoStack } from '../../../src/shared/contract/undo.ts';
import { fakeLives } from '../testing/fake-lives.ts';
import { FakeStack } from '../testing/fake-stack.ts';
import { useConnectionStatus, useLive, useUndo } from './index.ts';

let handle: ReturnType<typeof fakeLives>;
let element: HTMLElement;
let apps: App[];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  handle = fakeLives();
  element = document.createElement('div');
  apps = [];
});

afterEach(() => {
  for (const app of apps) app.unmount();
  vi.advanceTimersByTime(60_000);
  expect(handle.open()).toEqual([]);
  vi.useRealTimers();
});

/** Mounts a component that shows the text. */
function show(setup: () => () => string) {
  const app = createApp({
    setup() {
      const text = setup();
      return () => h('p', text());
    },
  });
  apps.push(app);
  app.mount(element.appendChild(document.createElement('div')));
  return app;
}

const shown = async () => {
  await nextTick();
  return element.textContent;
};

const textOf = ({ status, value, error }: ReturnType<typeof useLive<string>>) =>
  `${status} ${value ?? '-'} ${error ?? ''}`.trim();

test('[VUE1] useLive shows pending, a kept value, each value and each failure with the value before it', async () => {
  show(() => {
    const state = useLive(() => handle.read('a'));
    return () => textOf(state);
  });
  expect(await shown()).toBe('pending -');
  handle.kept('a', 'old');
  expect(await shown()).toBe('stale old');
  handle.result('a', 'one');
  expect(await shown()).toBe('ready one');
  handle.fail('a', 'broken');
  expect(await shown()).toBe('failed one broken');
  handle.result('a', 'two');
  expect(await shown()).toBe('ready two');
});

test('[VUE2] another read replaces the one before; an equal one, of any component, is the same', async () => {
  const name = ref('a');
  const more = ref(1);
  const setup = () => {
    const state = useLive(() => handle.read(more.value > 0 ? name.value : ''));
    return () => textOf(state);
  };
  show(setup);
  const second = show(setup);
  handle.result('a', 'one');
  expect(await shown()).toBe('ready oneready one');
  expect(handle.counts).toEqual({ opened: 1, closed: 0 });
  more.value = 2; // the function is called again, and returns an equal read
  expect(await shown()).toBe('ready oneready one');
  vi.advanceTimersByTime(1);
  expect(handle.counts).toEqual({ opened: 1, closed: 0 });
  name.value = 'b';
  expect(await shown()).toBe('pending -pending -');
  vi.advanceTimersByTime(1);
  expect(handle.open()).toEqual(['b']);
  handle.result('b', 'other');
  expect(await shown()).toBe('ready otherready other');
  second.unmount();
  vi.advanceTimersByTime(1);
  expect(handle.open()).toEqual(['b']);
});

test('[VUE2] a live read ends with its scope, outside of components too', async () => {
  const scope = effectScope();
  const state = scope.run(() => useLive(handle.read('a')))!;
  handle.result('a', 'one');
  expect(state).toEqual({ status: 'ready', value: 'one', error: undefined });
  scope.stop();
  vi.advanceTimersByTime(1);
  expect(handle.open()).toEqual([]);
  expect(state.value).toBe('one');
});

test.each([undefined, null, 5, {}, Promise.resolve()])(
  '[VUE1] another argument is INVALID_ARGUMENT, for the error handler: %o, itself or as the result of a function',
  (wrong) => {
    for (const live of [wrong, () => wrong]) {
      const errors: unknown[] = [];
      const app = createApp({
        setup() {
          useLive(live as never);
          return () => '';
        },
      });
      app.config.errorHandler = (error) => errors.push(error);
      app.mount(element);
      app.unmount();
      expect(errors).toEqual([expect.objectContaining({ code: 'INVALID_ARGUMENT' })]);
    }
  },
);

test('[VUE3] on a server nothing is read: a live value is pending, a connection connecting', async () => {
  vi.stubGlobal('document', undefined);
  try {
    const stack = new FakeStack();
    stack.become({ canUndo: true });
    const app = createApp({
      setup() {
        const live = useLive(() => handle.read('a'));
        const status = useConnectionStatus(() => Promise.reject() as never);
        const { canUndo } = useUndo(stack as unknown as UndoStack);
        return () => h('p', `${textOf(live)} ${status.state} ${canUndo}`);
      },
    });
    expect(await renderToString(app)).toBe('<p>pending - connecting false</p>');
    expect(handle.counts.opened).toBe(0);
  } finally {
    vi.unstubAllGlobals();
  }
});

test('[VUE4] useConnectionStatus follows a connection, until its component is gone', async () => {
  const source = Object.assign(new EventTarget(), { state: 'following', pendingWrites: 0 });
  let rendered = 0;
  const app = show(() => {
    const status = useConnectionStatus(source as unknown as ConnectionStatus);
    return () => {
      rendered += 1;
      return `${status.state} ${status.pendingWrites}`;
    };
  });
  expect(await shown()).toBe('following 0');
  source.pendingWrites = 1;
  source.dispatchEvent(new Event('statechange'));
  expect(await shown()).toBe('following 1');
  source.dispatchEvent(new Event('statechange'));
  await nextTick();
  expect(rendered).toBe(2);
  app.unmount();
  source.pendingWrites = 2;
  source.dispatchEvent(new Event('statechange'));
  await nextTick();
  expect(rendered).toBe(2);
});

test('[UNDO10] in Vue, useUndo follows a stack, and does nothing without one', async () => {
  const fake = new FakeStack();
  const stack = shallowRef<UndoStack | null>(null);
  let controls!: ReturnType<typeof useUndo>;
  show(() => {
    controls = useUndo(stack);
    return () => `${controls.canUndo ? `Undo ${controls.undoLabel}` : '-'}`;
  });
  const { undo, redo, skip } = controls;
  expect(await shown()).toBe('-');
  expect([await undo(), await redo(), skip()]).toEqual([false, false, false]);
  stack.value = fake as unknown as UndoStack;
  fake.become({ canUndo: true, undoLabel: 'typing' });
  expect(await shown()).toBe('Undo typing');
  fake.become({ canUndo: false });
  expect(await shown()).toBe('-');
  expect([await undo(), await redo(), skip()]).toEqual([true, true, true]);
  expect(fake.calls).toEqual(['undo', 'redo', 'skip']);
});
