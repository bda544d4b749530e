// Tests the checks of flags, which any tab could send: only a blob URL reaches the code that loads flags.

import { expect, test } from 'vitest';
import { checkCall, checkLiveStart, checkObjectRequest, WORKER_FUNCTIONS } from './protocol.ts';

const REFUSED = expect.objectContaining({ code: 'INVALID_ARGUMENT' });
const FLAG = { url: 'blob:https://a.example/1', madeMs: 1 };
const get = { op: 'get', keys: ['a'] };

test('[CANCEL9] a flag arrives with its call, and without other fields', () => {
  const flag = { ...FLAG, more: 1 };
  expect(checkCall({ ...get, flag })).toEqual({ ...get, flag: FLAG });
  expect(checkObjectRequest({ op: 'get', path: ['a'], flag })).toEqual({
    op: 'get',
    path: ['a'],
    flag: FLAG,
  });
  expect(checkLiveStart({ target: 'a', read: get, flag })).toEqual({
    target: 'a',
    read: get,
    flag: FLAG,
  });
});

test.each([
  ['null', null],
  ['a string', 'blob:a'],
  ['another address', { url: 'https://a.example/', madeMs: 1 }],
  ['an address of data', { url: 'data:text/plain,a', madeMs: 1 }],
  ['a long one', { url: `blob:${'a'.repeat(600)}`, madeMs: 1 }],
  ['one without a time', { url: 'blob:a' }],
  ['one at no time', { url: 'blob:a', madeMs: Number.NaN }],
])('[BORDER6] a flag that is %s is refused with its call', (_, flag) => {
  expect(() => checkCall({ ...get, flag })).toThrow(REFUSED);
  expect(() => checkObjectRequest({ op: 'get', path: ['a'], flag })).toThrow(REFUSED);
  expect(() => checkLiveStart({ target: 'a', read: get, flag })).toThrow(REFUSED);
});

test('[BORDER6] a cancellation names blob URLs only', () => {
  const [checkFlags] = WORKER_FUNCTIONS.cancel.parameters;
  expect(checkFlags(['blob:a', 'blob:b'])).toEqual(['blob:a', 'blob:b']);
  for (const wrong of ['https://a.example/', 'a blob:a', 1, null]) {
    expect(() => checkFlags(['blob:a', wrong, 'blob:b'])).toThrow(REFUSED);
  }
  expect(() => checkFlags('blob:a')).toThrow(REFUSED);
});
