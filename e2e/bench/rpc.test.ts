import { expect, test, vi } from 'vitest';
import { answerCalls } from '../../demo/bench/rpc.ts';

test('[DEMO10] a contender that fails in its worker says why first, where a stack does not begin with that', () => {
  const error = Object.assign(new TypeError('no handles here'), { stack: 'open@worker.js:1:2' });
  const replies: unknown[] = [];
  const scope = { postMessage: (reply: unknown) => replies.push(reply) } as unknown as Worker;
  vi.stubGlobal('self', scope);
  try {
    answerCalls({
      open: () => {
        throw error;
      },
    });
    scope.onmessage!(new MessageEvent('message', { data: [1, 'open', []] }));
  } finally {
    vi.unstubAllGlobals();
  }
  expect(replies).toEqual([[1, null, 'TypeError: no handles here\nopen@worker.js:1:2']]);
});
