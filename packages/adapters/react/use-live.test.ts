// `useLive` and `useLiveValue` in components of a DOM. The tests give the results of the live values.

import '../testing/dom.ts';

import {
  Activity,
  act,
  Component,
  createElement as h,
  type ReactNode,
  StrictMode,
  Suspense,
  startTransition,
  useState,
} from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { fakeLives } from '../testing/fake-lives.ts';
import { useLive, useLiveValue } from './index.ts';

let handle: ReturnType<typeof fakeLives>;
let root: Root;
let element: HTMLElement;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  handle = fakeLives();
  element = document.createElement('div');
  root = createRoot(element, { onCaughtError() {} });
});

afterEach(async () => {
  await act(async () => root.unmount());
  vi.advanceTimersByTime(60_000);
  expect(handle.open()).toEqual([]);
  vi.useRealTimers();
});

const render = (node: ReactNode) => act(async () => root.render(node));
const report = (task: () => void) => act(async () => task());
/** Runs the timers of the next task. */
const nextTask = () => vi.advanceTimersByTime(1);

function State({ name = 'a' }: { name?: string }) {
  const { status, value, error } = useLive(handle.read(name));
  return `${name}: ${status} ${value ?? '-'} ${error ?? ''}`.trim();
}

function Value({ name = 'a' }: { name?: string }) {
  return `${name}=${useLiveValue(handle.read(name))} `;
}

const withFallback = (...children: ReactNode[]) =>
  h(Suspense, { fallback: 'waiting' }, ...children);

let retry = () => {};
class Boundary extends Component<{ children: ReactNode }> {
  override state: { error?: unknown } = {};
  static getDerivedStateFromError = (error: unknown) => ({ error });
  override render() {
    retry = () => this.setState({ error: undefined });
    return this.state.error === undefined ? this.props.children : `caught ${this.state.error}`;
  }
}

describe('useLive', () => {
  test('[REACT1] shows pending, each value and each failure with the value before it', async () => {
    await render(h(State));
    expect(element.textContent).toBe('a: pending -');
    await report(() => handle.result('a', 'one'));
    expect(element.textContent).toBe('a: ready one');
    await report(() => handle.fail('a', 'broken'));
    expect(element.textContent).toBe('a: failed one broken');
    await report(() => handle.result('a', 'two'));
    expect(element.textContent).toBe('a: ready two');
  });

  test('[REACT9] shows the value of the last visit as stale, then the first result', async () => {
    await render(h('p', null, h(State), withFallback(h(Value))));
    expect(element.textContent).toBe('a: pending -waiting');
    await report(() => handle.kept('a', 'old'));
    expect(element.textContent).toBe('a: stale olda=old ');
    await report(() => handle.result('a', 'new'));
    expect(element.textContent).toBe('a: ready newa=new ');
  });

  test('[REACT2] a live value that is made again by each render is the same one', async () => {
    await render(h(State));
    await report(() => handle.result('a', 'one'));
    await render(h(State));
    await report(() => handle.result('a', 'two'));
    expect(element.textContent).toBe('a: ready two');
    expect(handle.counts).toEqual({ opened: 1, closed: 0 });
  });

  test('[REACT2] components that read the same share one live read', async () => {
    await render([h(State, { key: 1 }), h(State, { key: 2 }), h(State, { key: 3, name: 'b' })]);
    expect(handle.open()).toEqual(['a', 'b']);
    await report(() => handle.result('a', 'one'));
    expect(element.textContent).toBe('a: ready onea: ready oneb: pending -');
    await render([h(State, { key: 2 })]);
    nextTask();
    expect(handle.open()).toEqual(['a']);
    await report(() => handle.result('a', 'two'));
    expect(element.textContent).toBe('a: ready two');
  });

  test('[REACT2] another read replaces the one before, which ends', async () => {
    await render(h(State));
    await report(() => handle.result('a', 'one'));
    await render(h(State, { name: 'b' }));
    expect(element.textContent).toBe('b: pending -');
    nextTask();
    expect(handle.open()).toEqual(['b']);
    await report(() => handle.result('b', 'two'));
    expect(element.textContent).toBe('b: ready two');
  });

  test('[REACT3] StrictMode opens the live read once, and unmounting closes it', async () => {
    await render(h(StrictMode, null, h(State)));
    expect(handle.counts).toEqual({ opened: 1, closed: 0 });
    nextTask();
    expect(handle.counts).toEqual({ opened: 1, closed: 0 });
    await report(() => handle.result('a', 'one'));
    expect(element.textContent).toBe('a: ready one');
    await render(null);
    nextTask();
    expect(handle.counts).toEqual({ opened: 1, closed: 1 });
  });

  test('[REACT3] a component that moves within a task keeps the live read', async () => {
    await render(h('p', null, h(State)));
    await report(() => handle.result('a', 'one'));
    await render(h('ul', null, h(State)));
    expect(element.textContent).toBe('a: ready one');
    nextTask();
    expect(handle.counts).toEqual({ opened: 1, closed: 0 });
  });

  test('[REACT3] the live read of a hidden component ends; shown again, it begins with the last value', async () => {
    const hidden = (mode: 'hidden' | 'visible') => h(Activity, { mode, children: h(State) });
    await render(hidden('visible'));
    await report(() => handle.result('a', 'one'));
    await render(hidden('hidden'));
    nextTask();
    expect(handle.open()).toEqual([]);
    await render(hidden('visible'));
    expect(element.textContent).toBe('a: ready one');
    await report(() => handle.result('a', 'two'));
    expect(element.textContent).toBe('a: ready two');
  });

  test('[REACT1] a value that is not live is INVALID_ARGUMENT', async () => {
    const wrong = [undefined, null, () => handle.read('a'), Promise.resolve(), {}];
    for (const hook of [useLive, useLiveValue]) {
      for (const value of wrong) {
        expect(() => hook(value as never)).toThrow(
          expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
        );
      }
    }
  });
});

describe('useLiveValue', () => {
  test('[REACT4] suspends until the first value, on one live read, and never again', async () => {
    let fallbacks = 0;
    function Fallback() {
      fallbacks += 1;
      return 'waiting';
    }
    const tree = () =>
      h(
        StrictMode,
        null,
        h(Suspense, { fallback: h(Fallback) }, h(Value, { key: 1 }), h(Value, { key: 2 })),
      );
    await render(tree());
    expect(element.textContent).toBe('waiting');
    await render(tree());
    expect(handle.counts).toEqual({ opened: 1, closed: 0 });
    await report(() => handle.result('a', 1));
    expect(element.textContent).toBe('a=1 a=1 ');
    const before = fallbacks;
    await report(() => handle.result('a', 2));
    expect(element.textContent).toBe('a=2 a=2 ');
    await render(tree());
    expect(fallbacks, 'renders of the fallback').toBe(before);
    vi.advanceTimersByTime(60_000);
    expect(handle.counts).toEqual({ opened: 1, closed: 0 });
  });

  test('[REACT4] an undefined value is a value', async () => {
    await render(withFallback(h(Value)));
    await report(() => handle.result('a', undefined));
    expect(element.textContent).toBe('a=undefined ');
  });

  test('[REACT4] a value that has arrived stays until the other children of the boundary have theirs', async () => {
    await render(withFallback(h(Value, { key: 1, name: 'a' }), h(Value, { key: 2, name: 'b' })));
    expect(handle.open()).toEqual(['a', 'b']);
    await report(() => handle.result('a', 1));
    vi.advanceTimersByTime(29_999);
    expect(element.textContent).toBe('waiting');
    await report(() => handle.result('b', 2));
    expect(element.textContent).toBe('a=1 b=2 ');
    expect(handle.counts).toEqual({ opened: 2, closed: 0 });
  });

  test('[REACT4] a read whose value no component shows ends after 30 s', async () => {
    await render(withFallback(h(Value)));
    await render(null);
    expect(handle.open()).toEqual(['a']);
    await report(() => handle.result('a', 1));
    vi.advanceTimersByTime(29_999);
    expect(handle.open()).toEqual(['a']);
    vi.advanceTimersByTime(1);
    expect(handle.open()).toEqual([]);
  });

  test('[REACT4] a waiting component gets the value although the components that showed it have left', async () => {
    await render([h(State, { key: 1 }), h(Suspense, { key: 2, fallback: 'waiting' }, h(Value))]);
    await render([h(Suspense, { key: 2, fallback: 'waiting' }, h(Value))]);
    nextTask();
    expect(handle.open()).toEqual(['a']);
    await report(() => handle.result('a', 1));
    expect(element.textContent).toBe('a=1 ');
    nextTask();
    expect(handle.counts).toEqual({ opened: 1, closed: 0 });
  });

  test('[REACT4] in a transition, the last value stays until the next one is known', async () => {
    let choose = (_name: string) => {};
    function Choice() {
      const [name, setName] = useState('a');
      choose = setName;
      return h(Value, { name });
    }
    await render(withFallback(h(Choice)));
    await report(() => handle.result('a', 1));
    await report(() => startTransition(() => choose('b')));
    expect(element.textContent).toBe('a=1 ');
    await report(() => handle.result('a', 2));
    expect(element.textContent).toBe('a=2 ');
    await report(() => handle.result('b', 3));
    expect(element.textContent).toBe('b=3 ');
    nextTask();
    expect(handle.open()).toEqual(['b']);
    await report(() => choose('c'));
    expect(element.textContent).toContain('waiting');
    await report(() => handle.result('c', 4));
    expect(element.textContent).toBe('c=4 ');
  });

  test('[REACT5] an error reaches the boundary; rendered again, the component reads again', async () => {
    await render(h(Boundary, null, withFallback(h(Value))));
    await report(() => handle.fail('a', 'at first'));
    expect(element.textContent).toBe('caught at first');
    // The read goes on while the component may come back, so its next result is shown.
    await report(() => handle.result('a', 1));
    await report(retry);
    expect(element.textContent).toBe('a=1 ');
    await report(() => handle.fail('a', 'later'));
    expect(element.textContent).toBe('caught later');
    nextTask();
    expect(handle.open()).toEqual([]);
    await report(retry);
    expect(element.textContent).toBe('waiting');
    await report(() => handle.result('a', 2));
    expect(element.textContent).toBe('a=2 ');
  });

  test('[REACT5] a first read that failed ends once it was shown; rendered again, the component reads again', async () => {
    const live = handle.read('a'); // made outside of the component, so that each render has the same object
    const Kept = () => useLiveValue(live);
    await render(h(Boundary, null, withFallback(h(Kept))));
    await report(() => handle.fail('a', 'at first'));
    await report(retry);
    expect(element.textContent).toBe('caught at first');
    expect(handle.counts).toEqual({ opened: 1, closed: 0 });
    vi.advanceTimersByTime(1000);
    expect(handle.open()).toEqual([]);
    await report(retry);
    expect(element.textContent).toBe('waiting');
    await report(() => handle.fail('a', 'again'));
    expect(element.textContent).toBe('caught again');
    vi.advanceTimersByTime(1000);
    await report(retry);
    await report(() => handle.result('a', 1));
    expect(element.textContent).toBe('1');
    vi.advanceTimersByTime(1000);
    await report(() => handle.result('a', 2));
    expect(element.textContent).toBe('2');
    expect(handle.counts).toEqual({ opened: 3, closed: 2 });
  });
});

describe('a read that differs in each render', () => {
  /** Gives each open read a value, until no read is pending or `rounds` values were given. Returns their number. */
  async function answer(rounds = 200): Promise<number> {
    let answered = 0;
    const done = new Set<unknown>();
    while (answered < rounds) {
      const pending = handle.open().filter((key) => !done.has(key));
      if (pending.length === 0) return answered;
      for (const key of pending) {
        done.add(key);
        answered += 1;
        await report(() => handle.result(key, `value of ${key}`));
        nextTask();
      }
    }
    return answered;
  }

  let renders = 0;
  function UnsteadyRead({ name }: { name: string }) {
    renders += 1;
    const { value } = useLive(handle.read(`${name} ${renders}`));
    return `${value ?? '-'}`;
  }
  function UnsteadyValue() {
    renders += 1;
    return `${useLiveValue(handle.read(renders))}`;
  }

  test('[REACT10] is kept by useLive, which warns once; it is followed, and another render gets its own', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    renders = 0;
    await render(h(UnsteadyRead, { name: 'a' }));
    expect(await answer()).toBeLessThan(40);
    const [kept] = handle.open() as [string];
    expect(handle.open()).toEqual([kept]);
    await report(() => handle.result(kept, 'later'));
    expect([element.textContent, handle.open()]).toEqual(['later', [kept]]);
    await render(h(UnsteadyRead, { name: 'b' }));
    nextTask();
    await answer();
    expect(element.textContent).toMatch(/^value of b/);
    expect(handle.open()).toHaveLength(1);
    expect(warn.mock.calls).toEqual([[expect.stringContaining('the read differs in each render')]]);
    warn.mockRestore();
  });

  test('[REACT10] is an error of useLiveValue, and leaves no read behind', async () => {
    renders = 0;
    await render(h(Boundary, null, withFallback(h(UnsteadyValue))));
    expect(await answer()).toBeLessThan(40);
    expect(element.textContent).toMatch(/^caught .*the read differs in each render/);
    vi.advanceTimersByTime(31_000);
    expect(handle.open()).toEqual([]);
  });

  test('[REACT10] is not a read that changes often: by a user, or by the value before it', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    for (let i = 0; i < 60; i++) {
      await render(h(State, { name: `letter ${i}` }));
      nextTask();
      await answer();
      expect(element.textContent).toContain(`value of letter ${i}`);
    }
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  });

  test('[REACT10] is not a list of which each item waits for a read of its own', async () => {
    const names = Array.from({ length: 30 }, (_, i) => `item ${i}`);
    await render(withFallback(...names.map((name) => h(Value, { key: name, name }))));
    await answer();
    expect(element.textContent).toContain('item 29=value of item 29');
  });
});
