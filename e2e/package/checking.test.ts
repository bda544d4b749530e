// When the playground checks code, and the state that it shows meanwhile: with a checker and a clock that the test drives.

import { expect, test } from 'vitest';
import type { CodeFiles, TypeMistake } from '../../demo/checker/checker.ts';
import { ANSWER_MS, Checking, PAUSE_MS, type StartedChecker } from '../../demo/checker/checking.ts';

const A = { 'main.ts': 'a' };
const B = { 'main.ts': 'b' };
const C = { 'main.ts': 'c' };

/** A mistake that names the code in which it was found. */
const mistakeIn = (files: CodeFiles): TypeMistake => ({
  path: 'main.ts',
  line: 1,
  column: 0,
  length: 1,
  message: files['main.ts']!,
});

/** Runs what is due when the test says so. */
class Clock {
  readonly #waiting = new Map<() => void, number>();

  readonly later = (delayMs: number, run: () => void) => {
    this.#waiting.set(run, delayMs);
    return () => void this.#waiting.delete(run);
  };

  async pass(delayMs: number): Promise<void> {
    for (const [run, dueMs] of [...this.#waiting]) {
      if (dueMs > delayMs) continue;
      this.#waiting.delete(run);
      run();
    }
    await settled();
  }
}

const settled = () => new Promise<void>((resolve) => setTimeout(resolve));

function setUp() {
  const clock = new Clock();
  const checkers: { failed(message: string): void; isEnded: boolean }[] = [];
  /** The checks under way, the oldest first. */
  const asked: {
    files: CodeFiles;
    answer(mistakes: TypeMistake[]): void;
    fail(error: Error): void;
  }[] = [];
  const start = (): StartedChecker => {
    const started: StartedChecker = {
      api: {
        ready: () => Promise.resolve(),
        check: (files) => new Promise((answer, fail) => void asked.push({ files, answer, fail })),
        suggest: () => Promise.resolve([]),
        explain: () => Promise.resolve(null),
        describe: () => Promise.resolve(null),
      },
      onFailure: () => {},
      end: () => {
        entry.isEnded = true;
      },
    };
    const entry = { failed: (message: string) => started.onFailure(message), isEnded: false };
    checkers.push(entry);
    return started;
  };
  const checking = new Checking(start, clock.later);
  const answer = async () => {
    const { files, answer } = asked.shift()!;
    answer([mistakeIn(files)]);
    await settled();
  };
  return { checking, clock, checkers, asked, answer };
}

test('[DEMO27] code is checked after a pause, and an answer for older code is never shown', async () => {
  const { checking, clock, asked, answer } = setUp();
  expect(checking.state.value).toEqual({ kind: 'off' });
  checking.want(A);
  await settled();
  expect(checking.state.value).toEqual({ kind: 'loading' });
  await answer();
  expect(checking.state.value).toEqual({ kind: 'checked', files: A, mistakes: [mistakeIn(A)] });

  checking.want(B);
  expect(checking.state.value).toEqual({ kind: 'checking', before: [mistakeIn(A)] });
  expect(asked).toEqual([]);
  await clock.pass(PAUSE_MS);
  expect(asked.map(({ files }) => files)).toEqual([B]);
  // The visitor typed on before the answer came.
  checking.want(C);
  await answer();
  expect(checking.state.value).toEqual({ kind: 'checking', before: [mistakeIn(A)] });
  await clock.pass(PAUSE_MS);
  await answer();
  expect(checking.state.value).toEqual({ kind: 'checked', files: C, mistakes: [mistakeIn(C)] });
});

test('[DEMO27] an answer about code that has changed meanwhile is dropped', async () => {
  const { checking } = setUp();
  expect(await checking.ask((api, files) => api.suggest(files, 'main.ts', 0))).toBe(null);
  checking.want(A);
  const early = checking.ask((api, files) => api.suggest(files, 'main.ts', 0));
  checking.want(B);
  expect(await early).toBe(null);
  expect(await checking.ask((api, files) => api.suggest(files, 'main.ts', 0))).toEqual([]);
});

test('[DEMO27] lines are counted as the editor does, whatever ends them', async () => {
  const { checking, asked } = setUp();
  checking.want({ 'main.ts': 'a\r\nb\rc\n' });
  await settled();
  expect(asked[0]?.files).toEqual({ 'main.ts': 'a\nb\nc\n' });
});

test('[DEMO28] a checker that cannot be loaded, fails or gives no answer is ended and told, and begins again at a request', async () => {
  const { checking, clock, checkers, asked, answer } = setUp();
  checking.want(A);
  await settled();
  checkers[0]!.failed('TypeScript could not be loaded.');
  expect(checking.state.value).toEqual({
    kind: 'failed',
    message: 'TypeScript could not be loaded.',
  });
  expect(checkers[0]!.isEnded).toBe(true);
  // The editor goes on without it.
  checking.want(B);
  expect(await checking.ask((api, files) => api.suggest(files, 'main.ts', 0))).toBe(null);
  expect(checkers).toHaveLength(1);

  asked.length = 0;
  checking.retry();
  await settled();
  await answer();
  expect(checking.state.value).toEqual({ kind: 'checked', files: B, mistakes: [mistakeIn(B)] });

  checking.want(C);
  await clock.pass(PAUSE_MS);
  await clock.pass(ANSWER_MS);
  expect(checking.state.value).toEqual({
    kind: 'failed',
    message: 'TypeScript gave no answer within 20 s and was ended.',
  });
  expect(checkers.map(({ isEnded }) => isEnded)).toEqual([true, true]);

  asked.length = 0;
  checking.retry();
  await settled();
  asked[0]!.fail(new Error('out of memory'));
  await settled();
  expect(checking.state.value).toEqual({
    kind: 'failed',
    message: 'TypeScript failed: out of memory',
  });
});

test('[DEMO28] when the page is left, the worker ends', async () => {
  const { checking, checkers, asked, answer } = setUp();
  checking.want(A);
  await settled();
  checking.end();
  expect(checkers.map(({ isEnded }) => isEnded)).toEqual([true]);
  expect(checking.state.value).toEqual({ kind: 'off' });
  await answer();
  expect(checking.state.value).toEqual({ kind: 'off' });
  checking.want(A);
  await settled();
  expect(checkers).toHaveLength(2);
  expect(asked).toHaveLength(1);
});
