import { expect, test } from 'vitest';
import { scriptFault } from './script-fault.ts';

const PAGE = 'https://app.test/page';
const NEAR = 'https://app.test/worker.js';
const FAR = 'https://cdn.test/worker.js';
const COEP = { 'cross-origin-embedder-policy': 'require-corp' };
const JS = { 'content-type': 'text/javascript' };

type Answers = Readonly<Record<string, ResponseInit | 'refused' | 'refused by CORS'>>;

function faultOf(address: string, answers: Answers, isIsolated = false) {
  const fetch = async (url: string, { mode }: RequestInit) => {
    const answer = answers[url] ?? 'refused';
    if (answer === 'refused' || (answer === 'refused by CORS' && mode === 'cors')) {
      throw new TypeError('Failed to fetch');
    }
    return new Response('', answer === 'refused by CORS' ? {} : answer);
  };
  const { signal } = new AbortController();
  return scriptFault(address, { fetch, timeout: () => signal, address: PAGE, isIsolated });
}

test.for<[string, string, Answers, string]>([
  ['that is missing', NEAR, { [NEAR]: { status: 404 } }, `${NEAR} answers 404`],
  [
    'for which a page comes',
    NEAR,
    { [NEAR]: { headers: { 'content-type': 'text/html' } } },
    `${NEAR} is text/html, not JavaScript`,
  ],
  [
    'of an origin that allows nobody',
    FAR,
    { [FAR]: 'refused by CORS' },
    `${FAR} is of another origin, whose server must let this page load it: Access-Control-Allow-Origin`,
  ],
  [
    'of another origin that is in order',
    FAR,
    { [FAR]: { headers: JS }, [PAGE]: { headers: COEP } },
    `${FAR} is of another origin: a Content-Security-Policy of this page needs worker-src blob: https://cdn.test`,
  ],
])('[START32] a script %s is said to be so', async ([, address, answers, fault]) => {
  expect(await faultOf(address, answers)).toBe(fault);
});

test('[START32] a page with a Cross-Origin-Embedder-Policy, whose script has none, is told so', async () => {
  const named = `this page has a Cross-Origin-Embedder-Policy, and ${NEAR} has none`;
  const answers: Answers = { [NEAR]: { headers: JS }, [PAGE]: { headers: COEP } };
  expect(await faultOf(NEAR, answers)).toContain(named);
  expect(await faultOf(NEAR, { [NEAR]: { headers: JS } }, true)).toContain(named);
});

test.for<[string, string, Answers]>([
  ['a script that is in order', NEAR, { [NEAR]: { headers: JS }, [PAGE]: {} }],
  [
    'both with the policy',
    NEAR,
    { [NEAR]: { headers: { ...JS, ...COEP } }, [PAGE]: { headers: COEP } },
  ],
  ['a page that cannot be looked at', NEAR, { [NEAR]: { headers: JS } }],
  ['no answer', NEAR, {}],
  ['no answer of another origin', FAR, {}],
  ['a blob', 'blob:https://app.test/1', {}],
])('[START32] nothing is blamed: %s', async ([, address, answers]) => {
  expect(await faultOf(address, answers)).toBeNull();
});
