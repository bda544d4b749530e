import '../testing/dom.ts';

import { act, createElement as h, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { renderToString } from 'react-dom/server';
import { expect, test } from 'vitest';
import type { UndoStack } from '../../../src/shared/contract/undo.ts';
import { FakeStack } from '../testing/fake-stack.ts';
import { useUndo } from './index.ts';

let rendered = 0;
let functions: ReturnType<typeof useUndo>[] = [];
function Button({ stack }: { stack: UndoStack | null }) {
  const controls = useUndo(stack);
  rendered += 1;
  functions.push(controls);
  return `${controls.canUndo ? `Undo ${controls.undoLabel}` : '-'}, ${controls.canRedo ? 'Redo' : '-'}`;
}

test('[UNDO10] useUndo shows a stack again after each change, with functions that stay the same', async () => {
  const fake = new FakeStack();
  const stack = fake as unknown as UndoStack;
  const element = document.createElement('p');
  const root = createRoot(element);
  functions = [];
  await act(async () => root.render(h(StrictMode, null, h(Button, { stack }))));
  expect(element.textContent).toBe('-, -');
  await act(async () => fake.become({ canUndo: true, undoLabel: 'typing' }));
  expect(element.textContent).toBe('Undo typing, -');
  await act(async () => fake.become({ canUndo: false, canRedo: true }));
  expect(element.textContent).toBe('-, Redo');
  const [first, last] = [functions[0]!, functions.at(-1)!];
  expect([last.undo, last.redo, last.skip]).toEqual([first.undo, first.redo, first.skip]);
  expect([await last.undo(), await last.redo(), last.skip()]).toEqual([true, true, true]);
  expect(fake.calls).toEqual(['undo', 'redo', 'skip']);

  await act(async () => root.unmount());
  const count = rendered;
  await act(async () => fake.become({ canRedo: false }));
  expect(rendered).toBe(count);
});

test('[UNDO10] without a stack, and on a server, useUndo can do nothing', async () => {
  const fake = new FakeStack();
  fake.state = { ...fake.state, canUndo: true };
  expect(renderToString(h(Button, { stack: fake as unknown as UndoStack }))).toBe('-, -');
  const element = document.createElement('p');
  const root = createRoot(element);
  await act(async () => root.render(h(Button, { stack: null })));
  expect(element.textContent).toBe('-, -');
  const { undo, redo, skip } = functions.at(-1)!;
  expect([await undo(), await redo(), skip()]).toEqual([false, false, false]);
  await act(async () => root.unmount());
});
