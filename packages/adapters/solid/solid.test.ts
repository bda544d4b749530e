// The entry for Solid, in the bundles of a browser and of a server. The tests give the results of the live values.

import { build } from 'esbuild';
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { ConnectionStatus } from '../../../src/shared/contract/connection-status.ts';
import type { Live } from '../../../src/shared/contract/live.ts';
import type { UndoStack } from '../../../src/shared/contract/undo.ts';
import { fakeLives } from '../testing/fake-lives.ts';
import { FakeStack } from '../testing/fake-stack.ts';
import type * as Entry from './index.ts';

type Bundle = typeof import('solid-js') & typeof Entry;

async function bundled(condition: 'browser' | 'node'): Promise<Bundle> {
  const { outputFiles } = await build({
    stdin: {
      contents: "export * from 'solid-js'; export * from './index.ts';",
      resolveDir: import.meta.dirname,
    },
    bundle: true,
    format: 'esm',
    platform: condition === 'browser' ? 'browser' : 'node',
    conditions: [condition],
    write: false,
  });
  const code = Buffer.from(outputFiles[0]!.contents).toString('base64');
  return import(`data:text/javascript;base64,${code}`);
}

let solid: Bundle;
let handle: ReturnType<typeof fakeLives>;
let shown: string[];
let end: () => void;

beforeAll(async () => {
  solid = await bundled('browser');
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  handle = fakeLives();
  shown = [];
});

afterEach(() => {
  end();
  vi.advanceTimersByTime(1);
  expect(handle.open()).toEqual([]);
  vi.useRealTimers();
});

/** Makes a reactive root that records each text, as a component would show it. */
function show(text: () => () => string, { createRoot, createRenderEffect } = solid): void {
  createRoot((dispose) => {
    end = dispose;
    const shownText = text();
    createRenderEffect(() => void shown.push(shownText()));
  });
}

const textOf = ({ status, value, error }: ReturnType<typeof Entry.useLive<string>>) =>
  `${status} ${value ?? '-'} ${error ?? ''}`.trim();

test('[VUE1] useLive shows pending, a kept value, each value and each failure with the value before it', () => {
  show(() => {
    const state = solid.useLive(() => handle.read('a'));
    return () => textOf(state);
  });
  handle.kept('a', 'old');
  handle.result('a', 'one');
  handle.fail('a', 'broken');
  handle.result('a', 'two');
  expect(shown).toEqual(['pending -', 'stale old', 'ready one', 'failed one broken', 'ready two']);
});

test.each([undefined, null, 5, {}, Promise.resolve()])(
  '[VUE1] another argument is INVALID_ARGUMENT: %o, itself or as the result of a function',
  (wrong) => {
    const given = wrong as unknown as Live<string>;
    for (const live of [given, () => given]) {
      expect(() => show(() => () => textOf(solid.useLive(live)))).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      );
    }
  },
);

test('[VUE1] [VUE4] [UNDO10] a live value, a connection and a stack can be given without a function', async () => {
  const source = Object.assign(new EventTarget(), { state: 'following' });
  const stack = new FakeStack();
  let controls!: ReturnType<typeof Entry.useUndo>;
  show(() => {
    const state = solid.useLive(handle.read('a'));
    const status = solid.useConnectionStatus(source as unknown as ConnectionStatus);
    controls = solid.useUndo(stack as unknown as UndoStack);
    return () => `${textOf(state)} ${status.state} ${controls.canUndo}`;
  });
  handle.result('a', 'one');
  stack.become({ canUndo: true });
  expect(shown.at(-1)).toBe('ready one following true');
  expect(await controls.undo()).toBe(true);
});

test('[VUE2] another read replaces the one before; an equal one is the same; it ends with its owner', () => {
  const [name, setName] = solid.createSignal('a');
  const [more, setMore] = solid.createSignal(1);
  show(() => {
    const states = [1, 2].map(() => solid.useLive(() => handle.read(more() > 0 ? name() : '')));
    return () => states.map(textOf).join(', ');
  });
  handle.result('a', 'one');
  expect(shown.at(-1)).toBe('ready one, ready one');
  setMore(2);
  vi.advanceTimersByTime(1);
  expect(handle.counts).toEqual({ opened: 1, closed: 0 });
  setName('b');
  expect(shown.at(-1)).toBe('pending -, pending -');
  vi.advanceTimersByTime(1);
  expect(handle.open()).toEqual(['b']);
  handle.result('b', 'other');
  expect(shown.at(-1)).toBe('ready other, ready other');
});

test('[VUE4] [UNDO10] useConnectionStatus and useUndo show each change, until their owner is gone', async () => {
  const source = Object.assign(new EventTarget(), { state: 'following', pendingWrites: 0 });
  const fake = new FakeStack();
  const [stack, setStack] = solid.createSignal<UndoStack | null>(null);
  let controls!: ReturnType<typeof Entry.useUndo>;
  show(() => {
    const status = solid.useConnectionStatus(() => source as unknown as ConnectionStatus);
    controls = solid.useUndo(stack);
    return () =>
      `${status.state} ${status.pendingWrites} ${controls.canUndo ? controls.undoLabel : '-'}`;
  });
  const { undo, redo, skip } = controls;
  expect(shown.at(-1)).toBe('following 0 -');
  expect([await undo(), await redo(), skip()]).toEqual([false, false, false]);
  source.pendingWrites = 1;
  source.dispatchEvent(new Event('statechange'));
  expect(shown.at(-1)).toBe('following 1 -');
  const unchanged = shown.length;
  source.dispatchEvent(new Event('statechange'));
  expect(shown).toHaveLength(unchanged);
  setStack(() => fake as unknown as UndoStack);
  fake.become({ canUndo: true, undoLabel: 'typing' });
  expect(shown.at(-1)).toBe('following 1 typing');
  expect([await undo(), await redo(), skip()]).toEqual([true, true, true]);

  end();
  const count = shown.length;
  source.pendingWrites = 2;
  source.dispatchEvent(new Event('statechange'));
  fake.become({ canUndo: false });
  expect(shown).toHaveLength(count);
});

test('[VUE3] on a server nothing is read, a live value is pending and a connection connecting', async () => {
  const server = await bundled('node');
  const source = Object.assign(new EventTarget(), { state: 'leading' });
  show(() => {
    const state = server.useLive(() => handle.read('a'));
    const status = server.useConnectionStatus(source as unknown as ConnectionStatus);
    return () => `${textOf(state)} ${status.state}`;
  }, server);
  expect(shown).toEqual(['pending - connecting']);
  expect(handle.counts.opened).toBe(0);
});
