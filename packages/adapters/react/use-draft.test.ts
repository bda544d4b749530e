// `useDraft` in a component, over a stored text that is reported late.

import '../testing/dom.ts';

import { act, createElement as h, type ReactNode, StrictMode, useState } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { renderToString } from 'react-dom/server';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { useDraft } from './index.ts';

let root: Root;
let element: HTMLElement;
let saved: string[];
let field: ReturnType<typeof useDraft>;

beforeEach(() => {
  vi.useFakeTimers();
  element = document.createElement('div');
  root = createRoot(element);
  saved = [];
});

afterEach(async () => {
  await act(async () => root.unmount());
  vi.useRealTimers();
});

const render = (node: ReactNode) => act(async () => root.render(node));
const pass = (ms: number) => act(() => vi.advanceTimersByTimeAsync(ms));
const type = (text: string) => act(async () => field.setText(text));

/** A field of a row. The `save` of each render saves to the row of that render. */
function Field({ row = 'a', value = '' }: { row?: string; value?: string }) {
  field = useDraft(value, async (text) => saved.push(`${row}=${text}`), { delayMs: 100 });
  return `${field.text} ${field.state}${field.theirs === undefined ? '' : ` ${field.theirs}`}`;
}

test('[DRAFT9] letters at 30 ms a key stay while the row is rendered again with older texts', async () => {
  let tell = (_text: string) => {};
  function Bound() {
    const [stored, setStored] = useState('');
    tell = setStored;
    const save = async (text: string) => {
      await new Promise((resolve) => setTimeout(resolve, 40));
      setTimeout(() => setStored(text), 150);
    };
    field = useDraft(stored, save, { delayMs: 0 });
    return `${field.text} ${field.state}`;
  }
  await render(h(StrictMode, null, h(Bound)));
  const sentence = 'every letter stays';
  for (let length = 1; length <= sentence.length; length++) {
    await type(sentence.slice(0, length));
    await pass(30);
    expect(element.textContent).toBe(`${sentence.slice(0, length)} saving`);
  }
  await pass(1000);
  expect(element.textContent).toBe(`${sentence} saved`);
  await act(async () => tell('by another tab'));
  expect(element.textContent).toBe('by another tab saved');
});

test('[DRAFT9] a component that unmounts saves its last letters once, to its own row, also in StrictMode', async () => {
  await render(h(StrictMode, null, h(Field, { key: 'a', row: 'a' })));
  await type('last');
  expect(saved).toEqual([]);
  await render(h(StrictMode, null, h(Field, { key: 'b', row: 'b' })));
  expect(saved).toEqual(['a=last']);
  expect(element.textContent).toBe(' saved');
  await pass(1000);
  expect(saved).toEqual(['a=last']);
});

test('[DRAFT9] without a key, letters are saved to the row in which they were typed', async () => {
  await render(h(Field, { row: 'a' }));
  await type('mine');
  await render(h(Field, { row: 'b' }));
  await pass(100);
  expect(saved).toEqual(['a=mine']);
});

test('[DRAFT9] a conflict is shown, and resolved; the functions stay the same', async () => {
  await render(h(Field, { value: 'one' }));
  const { setText, resolve, flush } = field;
  await type('one two');
  await render(h(Field, { value: 'other' }));
  expect(element.textContent).toBe('one two conflict other');
  await act(async () => field.resolve('mine'));
  expect(element.textContent).toBe('one two saved');
  expect(saved).toEqual(['a=one two']);
  expect([field.setText, field.resolve, field.flush]).toEqual([setText, resolve, flush]);
});

test('[DRAFT9] on a server the text is the stored text; without a stored text it is INVALID_ARGUMENT', () => {
  expect(renderToString(h(Field, { value: 'one' }))).toBe('one saved');
  const Wrong = () => useDraft(undefined as never, async () => {}).text;
  expect(() => renderToString(h(Wrong))).toThrow(
    expect.objectContaining({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('useDraft'),
    }),
  );
});
