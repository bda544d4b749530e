// How a page starts its worker: failed starts, other choices, scripts that never serve, wrong arguments.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type FakeTab,
  FakeTabs,
  type FakeWorker,
} from '../../../packages/testing/page/fake-tabs.ts';
import { turns } from '../../../packages/testing/page/turns.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';
import { DEFAULT_DIRECTORY } from '../../shared/contract/directory.ts';
import { isStorageError, type StorageError } from '../../shared/contract/errors.ts';
import { namesOf, type WorkerMessage } from '../../shared/wire/control.ts';
import { OTHERS_WAIT_MS } from './leader-search.ts';
import { checkStorageName, choiceOfConnect, choiceOfStorage } from './worker-choice.ts';

/** How long a script may take from running the package's code to `serve`. */
const SERVE_WAIT_MS = 3000;

let tabs: FakeTabs;
let first: FakeTab;
let second: FakeTab;

beforeEach(() => {
  tabs = new FakeTabs(runCandidate);
  first = tabs.tab();
  second = tabs.tab();
});

afterEach(() => tabs.close());

/** Moves the tab's time on in steps, as messages arrive between them. */
async function pass(tab: FakeTab, durationMs: number): Promise<void> {
  for (let passedMs = 0; passedMs < durationMs; passedMs += 250) {
    await turns();
    tab.advance(250);
  }
  await turns();
}

async function failure(tab: FakeTab, call: Promise<unknown>): Promise<StorageError> {
  const outcome = call.then(
    () => expect.fail('it succeeded'),
    (error: unknown) => error,
  );
  await turns();
  tab.advance(OTHERS_WAIT_MS);
  const error = await outcome;
  if (!isStorageError(error)) throw error;
  return error;
}

/** Functions that differ in nothing but the script have other texts. */
const bad = () => first.startWorker('no script');
const good = () => first.startWorker('serves');
const other = () => {
  return first.startWorker('serves');
};

describe('a start that failed', () => {
  test('[START1] does not keep the next function from being used', async () => {
    expect(await failure(first, first.connect(null, { start: bad }))).toMatchObject({
      code: 'WORKER_FAILED',
    });
    await first.connect(null, { start: good });
    expect(first.host).not.toBe(null);
  });

  test('[START1] of a worker that never serves is replaced, and that worker ended', async () => {
    const mute = () => first.startWorker('never serves');
    const connecting = failure(first, first.connect(null, { start: mute }));
    await pass(first, SERVE_WAIT_MS + 2 * OTHERS_WAIT_MS);
    await connecting;
    await first.connect(null, { start: good });
    expect(first.workers.map(({ isAlive }) => isAlive)).toEqual([false, true]);
  });

  test('[START1] at a wrong address is mended by the address that comes with the package', async () => {
    const wrong = { workerUrl: 'https://app.test/nope.js', spawn: bad };
    await failure(first, first.open('object', wrong));
    const storage = await first.open('object', { spawn: good });
    await storage.put('a', 1);
  });

  test('[START1] with a worker that was given is mended by another one', async () => {
    const worker = first.startWorker('no script');
    await failure(first, first.connect(worker));
    await first.connect(first.startWorker('serves'));
  });

  test('[START1] of the worker to come next is mended as well, and handles go on with it', async () => {
    const start = () => first.startWorker();
    const storage = await first.open('object', { start });
    await storage.put('a', 1);
    first.script = 'no script';
    first.terminateWorker();
    await failure(first, storage.get('a'));
    await first.open('object', { start: good });
    expect(await storage.get('a')).toBe(1);
  });

  test('[START1] is mended while another tab leads; the new worker waits for its turn', async () => {
    const theirs = await second.open();
    await theirs.put('a', 1);
    const storage = await first.open('object', { start: bad });
    await turns();
    await first.open('object', { start: good });
    second.close();
    expect(await storage.get('a')).toBe(1);
    expect(first.workers.at(-1)!.host).not.toBe(null);
  });
});

describe('the way to the worker', () => {
  /** The messages of a worker to its page. */
  function heardFrom(worker: FakeWorker): unknown[] {
    const heard: unknown[] = [];
    worker.addEventListener('message', (event) => heard.push((event as MessageEvent).data));
    return heard;
  }

  test('[CONN12] a worker that the page started answers over its own channel', async () => {
    let heard: unknown[] = [];
    const spawn = () => {
      const worker = first.startWorker();
      heard = heardFrom(worker);
      return worker;
    };
    const storage = await first.open('object', { spawn });
    await storage.put('a', 1);
    const [leads] = heard.filter(isLeads);
    expect(leads).toMatchObject({ connection: expect.any(String) });
    expect(leads).not.toHaveProperty('port');
    const answers = heard.filter((message) => Array.isArray(message));
    expect(answers.length).toBeGreaterThanOrEqual(2);
    expect(new Set(answers.map(([name]) => name))).toEqual(new Set([leads!.connection]));
  });

  test('[CONN12] a listener of the app that was added later hears nothing of the connection', async () => {
    const storage = await first.open();
    const heard = heardFrom(first.workers[0]!);
    await storage.put('a', 1);
    expect(heard).toEqual([]);
  });

  test('[CONN12] a given worker answers over a port', async () => {
    const worker = first.startWorker();
    const heard = heardFrom(worker);
    const storage = await first.open('object', { worker });
    await storage.put('a', 1);
    const [leads] = heard.filter(isLeads);
    expect(leads).toMatchObject({ port: expect.any(MessagePort) });
    expect(heard.filter((message) => Array.isArray(message))).toEqual([]);
  });

  test('[CONN12] a page that finds its worker leading again has a connection of another name', async () => {
    const names = new Set<unknown>();
    const spawn = () => {
      const worker = first.startWorker();
      worker.addEventListener('message', (event) => {
        const { data } = event as MessageEvent<unknown>;
        if (isLeads(data)) names.add(data.connection);
      });
      return worker;
    };
    const storage = await first.open('object', { spawn });
    await storage.put('a', 1);
    first.workers[0]!.terminate();
    await expect(storage.get('a')).resolves.toBe(1);
    expect(names.size).toBe(2);
  });
});

function isLeads(message: unknown): message is WorkerMessage & { type: 'leads' } {
  return (message as { type?: unknown } | null)?.type === 'leads';
}

describe('another choice', () => {
  test('[START2] is refused in words while the worker is in use', async () => {
    await first.connect(null, { start: good });
    const error = await failure(first, first.connect(null, { start: bad }));
    expect(error).toMatchObject({ name: 'TypeError', code: 'INVALID_ARGUMENT' });
    expect(error.message).toContain('the function that starts the worker');
    expect(error.message).toContain('close()');
    expect(first.workers.length).toBe(1);
  });

  test('[START2] is refused while the first one is being started', async () => {
    const connecting = first.connect(null, { start: good });
    expect(await failure(first, first.connect(null, { start: other }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    await connecting;
  });

  test.for<[string, { start?: () => FakeWorker; workerUrl?: string; wasmUrl?: string }]>([
    ['a function, after a worker', { start: good }],
    ['an address of the worker', { workerUrl: 'https://app.test/other.js' }],
    ['an address of the wasm file', { wasmUrl: 'https://app.test/other.wasm' }],
  ])('[START2] %s is refused', async ([, choice]) => {
    await first.connect(first.startWorker('serves'));
    expect(await failure(first, first.open('object', choice))).toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  test('[START2] the same one, an omitted one, and a function of equal text are taken', async () => {
    const startOf = () => () => first.startWorker('serves');
    await first.connect(null, { start: startOf() });
    await first.connect(null, { start: startOf() });
    await first.open('object');
    expect(first.workers.length).toBe(1);
  });

  test('[START2] bound functions are told apart', async () => {
    const start = (script: FakeTab['script']) => first.startWorker(script);
    await first.connect(null, { start: start.bind(null, 'serves') });
    expect(
      await failure(first, first.connect(null, { start: start.bind(null, 'no script') })),
    ).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

describe('a script that does not serve', () => {
  test('[START3] is said to be so after 3 s, and one in which the others are asked', async () => {
    first.script = 'never serves';
    let outcome: unknown = 'pending';
    void first.connect().catch((error) => {
      outcome = error;
    });
    await pass(first, 3750);
    expect(outcome).toBe('pending');
    await pass(first, 750);
    expect(outcome).toMatchObject({
      code: 'WORKER_FAILED',
      message: expect.stringContaining('has not called serve() within 3 s'),
    });
  });

  test('[START3] is waited for when it serves after all', async () => {
    first.script = 'never serves';
    const connecting = first.connect();
    await pass(first, SERVE_WAIT_MS / 2);
    first.workers[0]!.serve();
    await pass(first, 500);
    await connecting;
    expect(first.host).not.toBe(null);
  });

  test('[START3] is not a script that still loads', async () => {
    first.script = 'says nothing';
    let outcome = 'pending';
    const connecting = first.connect().catch((error) => {
      outcome = error.code;
    });
    await pass(first, 2 * SERVE_WAIT_MS + 2 * OTHERS_WAIT_MS);
    expect(outcome).toBe('pending');
    first.workers[0]!.serve();
    // The message of the start waits in the worker's queue.
    await connecting;
    expect(outcome).toBe('pending');
  });

  test('[START3] is said to be so after 29 s if it imports nothing of the package, with both causes', async () => {
    first.script = 'says nothing';
    let outcome: unknown = 'pending';
    void first.connect().catch((error) => {
      outcome = error;
    });
    await pass(first, 28_500);
    expect(outcome).toBe('pending');
    await pass(first, 2500);
    expect(outcome).toMatchObject({
      code: 'WORKER_FAILED',
      message: expect.stringMatching(
        /still loads, or it has run without .* imports ctx-storage\/worker/,
      ),
    });
  });

  test('[START3] a worker that waits for its turn is not accused, nor a worker that is given twice', async () => {
    await second.connect();
    const silent = tabs.browser.agent();
    const { leaderLock } = namesOf(DEFAULT_DIRECTORY);
    void silent.locks.request(leaderLock, {}, () => new Promise(() => {}));
    const worker = first.startWorker('never serves');
    worker.serve();
    (await first.connect(worker)).close();
    second.close();
    let outcome = 'pending';
    const connecting = first.connect(worker).then(
      () => {
        outcome = 'connected';
      },
      (error) => {
        outcome = error.code;
      },
    );
    await pass(first, 2 * SERVE_WAIT_MS + 2 * OTHERS_WAIT_MS);
    expect(outcome).toBe('pending');
    silent.end();
    await connecting;
    expect(outcome).toBe('connected');
  });
});

describe('wrong arguments', () => {
  const page = {
    absoluteUrl: (url: string | URL) => new URL(url, 'https://app.test/').href,
    startWorker: () => expect.fail('it started'),
    startBy: () => expect.fail('it started'),
  };
  const connecting = (...args: unknown[]) => choiceOfConnect(args[0], args[1], page);

  test.for<[string, () => unknown, string]>([
    ['connect()', () => connecting(), 'new Worker('],
    ['connect of an address', () => connecting('./x.js'), 'not "./x.js"'],
    ['connect(null)', () => connecting(null), 'new Worker('],
    ['connect of a port', () => connecting({ port: {} }), 'an object of class Object'],
    ['options that are text', () => connecting(good, 'app'), "{ directory: 'app' }"],
    ['a directory that is a number', () => connecting(good, { directory: 5 }), 'number 5'],
    ['a directory that is a path', () => connecting(good, { directory: 'a/b' }), 'without slashes'],
    ['a directory with NUL', () => connecting(good, { directory: 'a\0' }), 'control characters'],
    ['a directory with a line feed', () => connecting(good, { directory: 'a\nb' }), 'control'],
    ['a directory with half a pair', () => connecting(good, { directory: 'a\ud800' }), 'halves'],
    ['an empty directory', () => choiceOfStorage({ directory: '' }, page), 'without slashes'],
    ['a wasmUrl that is not text', () => connecting(good, { wasmUrl: 1 }), 'wasmUrl is an address'],
    ['an impossible workerUrl', () => choiceOfStorage({ workerUrl: 'http://' }, page), 'workerUrl'],
    ['a history of a year', () => choiceOfStorage({ history: { days: 365 } }, page), '0 to 30'],
    ['limits that are a number', () => choiceOfStorage({ limits: 5 }, page), 'importMs: 60_000'],
    ['limits that are null', () => choiceOfStorage({ limits: null }, page), 'not null'],
    [
      'an importMs of 0',
      () => choiceOfStorage({ limits: { importMs: 0 } }, page),
      'above 0, not 0',
    ],
    ['an importMs of NaN', () => choiceOfStorage({ limits: { importMs: NaN } }, page), 'not NaN'],
    ['an importMs of text', () => choiceOfStorage({ limits: { importMs: '5' } }, page), 'above 0'],
    ['a limit of serve', () => choiceOfStorage({ limits: { queryMs: 5 } }, page), 'not queryMs'],
    ['a worker that is text', () => choiceOfStorage({ worker: 'w.js' }, page), 'Omit it'],
    ['openStorage()', () => checkStorageName(undefined), "openStorage('notes')"],
    ['openStorage(5)', () => checkStorageName(5), 'not the number 5'],
  ])('[START4] %s is INVALID_ARGUMENT and shows the right form', ([, call, words]) => {
    const expected = { name: 'TypeError', code: 'INVALID_ARGUMENT' };
    expect(call).toThrow(expect.objectContaining(expected));
    expect(call).toThrow(words);
  });

  test('[START4] arguments that are right are taken as they are', () => {
    const { directory, worker, start } = connecting(good);
    expect([directory, worker, start]).toEqual(['ctx-storage-objects', null, good]);
    const history = { days: 7, bytes: 1e6 };
    const storage = choiceOfStorage({ workerUrl: '/w.js', directory: 'app', history }, page);
    const workerUrl = 'https://app.test/w.js';
    expect(storage).toMatchObject({ directory: 'app', workerUrl, history });
    expect(choiceOfStorage({}, page).history).toBeNull();
    expect(choiceOfStorage({ limits: { importMs: Infinity } }, page).limits).toEqual({
      importMs: Infinity,
    });
    expect(choiceOfStorage({}, page).limits).toBeNull();
  });

  test.for<[string, unknown, string]>([
    ['nothing', undefined, 'undefined'],
    ['a promise', Promise.resolve(), 'class Promise'],
  ])(
    '[START5] a function that returns %s is INVALID_ARGUMENT at once',
    async ([, value, words]) => {
      const start = () => value as never;
      const error = await first.connect(null, { start }).then(
        () => expect.fail('it succeeded'),
        (thrown) => thrown,
      );
      expect(error).toMatchObject({ name: 'TypeError', code: 'INVALID_ARGUMENT' });
      expect(error.message).toContain(words);
      await first.connect(null, { start: good });
    },
  );
});
