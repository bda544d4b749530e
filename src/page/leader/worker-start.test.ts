// Workers whose script a browser would refuse as it is written, with the page's globals replaced.

import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { scriptOf, startWorker, workerAt } from './worker-start.ts';

interface Started {
  readonly url: unknown;
  readonly options: WorkerOptions | undefined;
}

let started: Started[];
let blobs: string[];

beforeEach(() => {
  started = [];
  blobs = [];
  vi.stubGlobal('location', new URL('https://app.test/page'));
  vi.stubGlobal('document', { baseURI: 'https://app.test/page' });
  vi.stubGlobal(
    'Worker',
    class {
      constructor(url: unknown, options?: WorkerOptions) {
        started.push({ url, options });
      }
    },
  );
  vi.stubGlobal(
    'Blob',
    class {
      constructor([text]: [string]) {
        blobs.push(text);
      }
    },
  );
  const createObjectURL = () => `blob:https://app.test/${blobs.length}`;
  vi.stubGlobal('URL', Object.assign(class extends URL {}, { createObjectURL }));
});
afterEach(() => vi.unstubAllGlobals());

const start = (url: string | URL, options?: WorkerOptions) =>
  startWorker(() => new Worker(url, options));

describe('a script of another origin', () => {
  const FAR = 'https://cdn.test/assets/worker-1a2b.js';

  test('[PKG9] is imported by a module of the page, and by a classic script', () => {
    start(new URL(FAR), { type: 'module', name: 'objects' });
    start(FAR);
    expect(blobs).toEqual([`import "${FAR}";`, `importScripts("${FAR}");`]);
    expect(started).toEqual([
      { url: 'blob:https://app.test/1', options: { type: 'module', name: 'objects' } },
      { url: 'blob:https://app.test/2', options: undefined },
    ]);
  });

  test('[PKG9] finds its fragment and its origin in location, as Turbopack reads them', () => {
    start(`${FAR}#params=1`);
    const importScripts = vi.fn();
    const self: { location?: URL } = {};
    runInNewContext(blobs[0]!, { self, importScripts, URL });
    expect(importScripts.mock.calls).toEqual([[FAR]]);
    expect(self.location).toMatchObject({ hash: '#params=1', origin: 'https://cdn.test' });
  });

  test('[PKG9] is found by its own address, when it fails', () => {
    expect(scriptOf(start(FAR))).toBe(FAR);
    expect(scriptOf(startWorker(() => workerAt(FAR)))).toBe(FAR);
  });
});

test.for([
  ['of the page', '/assets/worker.js'],
  ['of a blob', 'blob:https://app.test/7'],
  ['of data', 'data:text/javascript,1'],
  ['that a bundler wrote', 'file:///app/worker.js'],
  ['that is not an address', 'https://'],
])('[PKG9] an address %s is started as it is', ([, url]) => {
  start(url!);
  expect(blobs).toEqual([]);
  expect(started).toMatchObject([{ url }]);
});

test('[PKG9] only a start replaces Worker, also if it throws', () => {
  const { Worker } = globalThis;
  const failing = () =>
    startWorker(() => {
      throw new Error('no');
    });
  expect(failing).toThrow('no');
  expect(globalThis.Worker).toBe(Worker);
});

describe('in a page that asks for Trusted Types', () => {
  class ScriptUrl {
    readonly #url: string;
    constructor(url: string) {
      this.#url = url;
    }
    toString = () => this.#url;
  }

  beforeEach(() => {
    vi.stubGlobal('trustedTypes', {
      isScriptURL: (value: unknown) => value instanceof ScriptUrl,
      createPolicy: () => ({ createScriptURL: (url: string) => new ScriptUrl(url) }),
    });
  });

  test('[START8] an address of the page is trusted, and one of another origin that nobody trusts is not', () => {
    start('/worker.js');
    start('https://evil.test/worker.js');
    expect(started[0]!.url).toBeInstanceOf(ScriptUrl);
    expect(started[1]!.url).toBe('blob:https://app.test/1');
  });

  test('[START8] one of another origin that the app trusts, or names, is trusted', () => {
    start(new ScriptUrl('https://cdn.test/worker.js') as unknown as string);
    startWorker(() => workerAt('https://cdn.test/worker.js'));
    expect(blobs).toHaveLength(2);
    for (const { url } of started) expect(url).toBeInstanceOf(ScriptUrl);
  });
});
