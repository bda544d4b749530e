// Drafts of a text field over a store that reports its commits late, and does not report some of them.

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type DraftState, draft, type SaveText, type TextDraft } from './draft.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** A stored text. It reports its commits some time later, in their order. */
class Store {
  text = '';
  readonly history = new Set<string>(['']);
  report: (text: string) => void = () => {};
  #reported = '';
  #skipped: string | null = null;
  #lastReportMs = 0;

  commit(text: string, reportAfterMs: number): void {
    this.text = text;
    this.history.add(text);
    const atMs = Math.max(Date.now() + reportAfterMs, this.#lastReportMs);
    this.#lastReportMs = atMs;
    setTimeout(() => this.#reach(text, text === this.text || atMs % 3 > 0), atMs - Date.now());
  }

  /** Reports a text like a live read, which reports only texts that differ from the last one. */
  #reach(text: string, isReported: boolean): void {
    if (!isReported) {
      this.#skipped = text;
      return;
    }
    if (text === this.#reported && this.#skipped !== null) this.report(this.#skipped);
    this.#skipped = null;
    this.#reported = text;
    this.report(text);
  }
}

/** Types the letters into the text, one each 30 ms. */
async function type(typed: TextDraft, letters: string): Promise<void> {
  for (const letter of letters) {
    typed.setText(typed.getState().text + letter);
    await pass(30);
  }
}

const textOf = (typed: TextDraft) => typed.getState().text;
const stateOf = (typed: TextDraft) => typed.getState().state;

describe('what is typed', () => {
  test('[DRAFT1] letters at 30 ms a key stay, while each echo comes 200 ms late', async () => {
    const store = new Store();
    const saved: string[] = [];
    const save = async (text: string) => {
      saved.push(text);
      await wait(50);
      store.commit(text, 200);
    };
    const typed = draft('', save, { delayMs: 0 });
    store.report = typed.setValue;
    const sentence = 'The quick brown fox jumps over the lazy dog';
    for (const [index, letter] of [...sentence].entries()) {
      typed.setText(textOf(typed) + letter);
      await pass(30);
      expect(textOf(typed)).toBe(sentence.slice(0, index + 1));
      expect(stateOf(typed)).toBe('saving');
    }
    await pass(1000);
    expect(typed.getState()).toEqual({
      text: sentence,
      state: 'saved',
      error: undefined,
      theirs: undefined,
    });
    expect(store.text).toBe(sentence);
    expect(saved.length).toBeGreaterThan(10);
  });

  test('[DRAFT2] a text is saved delayMs after the last letter, once', async () => {
    const save = vi.fn<SaveText>(async () => {});
    const typed = draft('a', save, { delayMs: 100 });
    await type(typed, 'bcd');
    await pass(69);
    expect(save).not.toHaveBeenCalled();
    await pass(1);
    expect(save.mock.calls).toEqual([['abcd', 'a']]);
    expect(stateOf(typed)).toBe('saved');
    await pass(10_000);
    expect(save).toHaveBeenCalledOnce();
  });

  test('[DRAFT2] without a pause in the typing it is saved 5 seconds after the first letter', async () => {
    const save = vi.fn<SaveText>(async () => {});
    const typed = draft('', save);
    await type(typed, 'x'.repeat(166));
    expect(save).not.toHaveBeenCalled();
    await type(typed, 'yz');
    expect(save.mock.calls).toEqual([[`${'x'.repeat(166)}y`, '']]);
    expect(stateOf(typed)).toBe('saving');
  });

  test('[DRAFT2] saves do not overlap, and the last text wins', async () => {
    let running = 0;
    const saved: [string, string][] = [];
    const save = async (text: string, base: string) => {
      running += 1;
      expect(running).toBe(1);
      await wait(100);
      saved.push([text, base]);
      running -= 1;
    };
    const typed = draft('', save, { delayMs: 10 });
    await type(typed, 'abcdef');
    await pass(1000);
    expect(saved.map(([text]) => text)).toEqual(['a', 'abcd', 'abcdef']);
    expect(saved.map(([, base]) => base)).toEqual(['', 'a', 'abcd']);
  });

  test('[DRAFT2] flush saves at once, and resolves when all is saved', async () => {
    const save = vi.fn(async () => wait(100));
    const typed = draft('', save);
    await type(typed, 'a');
    const flushed = vi.fn();
    void typed.flush().then(flushed);
    await type(typed, 'b');
    void typed.flush();
    await pass(100);
    expect(flushed).not.toHaveBeenCalled();
    await pass(100);
    expect(flushed).toHaveBeenCalledOnce();
    expect(save.mock.calls).toEqual([
      ['a', ''],
      ['ab', 'a'],
    ]);
    expect(stateOf(typed)).toBe('saved');
    await typed.flush();
  });
});

describe('a failed save', () => {
  test('[DRAFT3] keeps the text and says why; the next letter tries again', async () => {
    let isBroken = true;
    const saved: string[] = [];
    const typed = draft(
      '',
      async (text) => {
        if (isBroken) throw new Error('full');
        saved.push(text);
      },
      { delayMs: 50 },
    );
    await type(typed, 'ab');
    await pass(50);
    expect(typed.getState()).toMatchObject({
      text: 'ab',
      state: 'saving',
      error: new Error('full'),
    });
    isBroken = false;
    await pass(60_000);
    expect(saved).toEqual([]);
    typed.setText('abc');
    expect(typed.getState().error).toEqual(new Error('full'));
    await pass(50);
    expect(typed.getState()).toMatchObject({ text: 'abc', state: 'saved', error: undefined });
    expect(saved).toEqual(['abc']);
  });

  test('[DRAFT3] flush tries again', async () => {
    const save = vi.fn<SaveText>(async () => {}).mockRejectedValueOnce(new Error('gone'));
    const typed = draft('', save);
    typed.setText('a');
    await typed.flush();
    expect(typed.getState().error).toEqual(new Error('gone'));
    await typed.flush();
    expect(stateOf(typed)).toBe('saved');
  });

  test('[DRAFT3] that was rejected without an error gets an error', async () => {
    const typed = draft('', () => Promise.reject());
    typed.setText('a');
    await typed.flush();
    expect(typed.getState()).toMatchObject({ state: 'saving', error: expect.any(Error) });
  });

  test('[DRAFT3] is forgotten once its text is reported as stored, before or after the failure', async () => {
    for (const tellsBefore of [true, false]) {
      const typed = draft('', async (text) => {
        if (tellsBefore) typed.setValue(text);
        throw new Error('the answer is lost');
      });
      typed.setText('a');
      await typed.flush();
      if (!tellsBefore) typed.setValue('a');
      expect(typed.getState()).toMatchObject({ text: 'a', state: 'saved', error: undefined });
    }
  });

  test('[DRAFT3] after a lost answer, the next save is based on the text that was stored', async () => {
    const save = vi
      .fn<SaveText>(async () => {})
      .mockRejectedValueOnce(new Error('the answer is lost'));
    const typed = draft('', save);
    typed.setText('a');
    await typed.flush();
    typed.setText('ab');
    typed.setValue('a');
    await typed.flush();
    expect(save.mock.calls).toEqual([
      ['a', ''],
      ['ab', 'a'],
    ]);
  });
});

describe('what others store', () => {
  test('[DRAFT4] replaces a text that is saved', async () => {
    const save = vi.fn(async () => {});
    const typed = draft('a', save);
    typed.setValue('b');
    expect(typed.getState()).toMatchObject({ text: 'b', state: 'saved' });
    typed.setText('bc');
    await typed.flush();
    expect(save.mock.calls).toEqual([['bc', 'b']]);
    typed.setValue('bc');
    typed.setValue('d');
    expect(typed.getState()).toMatchObject({ text: 'd', state: 'saved' });
  });

  test('[DRAFT4] is a conflict with letters that are not saved, which stay; nothing is saved then', async () => {
    const save = vi.fn(async () => {});
    const typed = draft('a', save);
    typed.setText('ab');
    typed.setValue('other');
    expect(typed.getState()).toEqual({
      text: 'ab',
      state: 'conflict',
      error: undefined,
      theirs: 'other',
    });
    typed.setText('abc');
    typed.setValue('another');
    await pass(60_000);
    await typed.flush();
    expect(save).not.toHaveBeenCalled();
    expect(typed.getState()).toMatchObject({ text: 'abc', state: 'conflict', theirs: 'another' });
  });

  test('[DRAFT5] mine is saved over theirs; theirs replaces mine', async () => {
    for (const choice of ['mine', 'theirs'] as const) {
      const save = vi.fn(async () => {});
      const typed = draft('a', save);
      typed.resolve(choice);
      typed.setText('ab');
      typed.setValue('other');
      typed.resolve(choice);
      await pass(0);
      expect(save.mock.calls).toEqual(choice === 'mine' ? [['ab', 'other']] : []);
      expect(typed.getState()).toEqual({
        text: choice === 'mine' ? 'ab' : 'other',
        state: 'saved',
        error: undefined,
        theirs: undefined,
      });
    }
  });

  test('[DRAFT5] theirs is stored again if a save was under way when it was reported', async () => {
    const save = vi.fn(async () => wait(100));
    const typed = draft('', save, { delayMs: 0 });
    typed.setText('a');
    await pass(50);
    typed.setValue('other');
    expect(stateOf(typed)).toBe('conflict');
    await pass(100);
    expect(stateOf(typed)).toBe('conflict');
    typed.setValue('a');
    expect(stateOf(typed)).toBe('conflict');
    typed.resolve('theirs');
    expect(typed.getState()).toMatchObject({ text: 'other', state: 'saving' });
    await pass(100);
    expect(save.mock.calls.at(-1)).toEqual(['other', 'a']);
    expect(stateOf(typed)).toBe('saved');
  });

  test('[DRAFT4] a stored text that equals the draft is not a conflict, and ends one', async () => {
    const save = vi.fn(async () => {});
    const typed = draft('a', save);
    typed.setText('ab');
    typed.setValue('ab');
    expect(stateOf(typed)).toBe('saved');
    typed.setText('abc');
    typed.setValue('x');
    expect(stateOf(typed)).toBe('conflict');
    typed.setValue('abc');
    expect(stateOf(typed)).toBe('saved');
    await pass(60_000);
    expect(save).not.toHaveBeenCalled();
  });

  test('[DRAFT6] an older own text is shown if it is the stored text for 5 seconds, as after an undo', async () => {
    const typed = draft('', async () => {}, { delayMs: 0 });
    for (const text of ['a', 'ab']) {
      typed.setText(text);
      await pass(1);
    }
    typed.setValue('a');
    await pass(4999);
    expect(textOf(typed)).toBe('ab');
    await pass(1);
    expect(typed.getState()).toMatchObject({ text: 'a', state: 'saved' });
  });
});

describe('the page', () => {
  test('[DRAFT7] the last listener that goes saves at once', async () => {
    const save = vi.fn(async () => {});
    const typed = draft('', save);
    const states: DraftState['state'][] = [];
    const first = typed.subscribe(({ state }) => states.push(state));
    const second = typed.subscribe(() => {});
    typed.setText('a');
    first();
    expect(save).not.toHaveBeenCalled();
    second();
    second();
    expect(save.mock.calls).toEqual([['a', '']]);
    await pass(1000);
    expect(save).toHaveBeenCalledOnce();
    expect(states).toEqual(['saved', 'saving']);
  });

  test('[DRAFT7] leaving a field, hiding and leaving the page save at once; leaving the page does not wait for a running save', async () => {
    const page = new EventTarget();
    const document = new EventTarget();
    vi.stubGlobal('window', page);
    vi.stubGlobal('document', document);
    try {
      const saved: string[] = [];
      const typed = draft('', async (text) => {
        saved.push(text);
        await wait(100);
        if (text === 'fails') throw new Error(text);
      });
      const stop = typed.subscribe(() => {});
      typed.setText('a');
      document.dispatchEvent(new Event('focusout'));
      expect(saved).toEqual(['a']);
      await pass(100);
      typed.setText('ab');
      document.dispatchEvent(new Event('visibilitychange'));
      expect(saved).toEqual(['a', 'ab']);
      typed.setText('abc');
      document.dispatchEvent(new Event('focusout'));
      expect(saved).toEqual(['a', 'ab']);
      page.dispatchEvent(new Event('pagehide'));
      expect(saved).toEqual(['a', 'ab', 'abc']);
      await pass(99);
      expect(stateOf(typed)).toBe('saving');
      await pass(1);
      expect(stateOf(typed)).toBe('saved');
      // The earlier of two saves fails, but the later one saves the whole text.
      typed.setText('fails');
      document.dispatchEvent(new Event('focusout'));
      typed.setText('last');
      page.dispatchEvent(new Event('pagehide'));
      await pass(100);
      expect(typed.getState()).toMatchObject({ text: 'last', state: 'saved', error: undefined });
      stop();
      typed.setText('abcd');
      page.dispatchEvent(new Event('pagehide'));
      expect(saved).toHaveLength(5);
    } finally {
      vi.unstubAllGlobals();
    }
  });

  test('[DRAFT1] the functions work without their object, and a state stays the same object until it changes', () => {
    const { setText, setValue, subscribe, getState } = draft('', async () => {});
    const before = getState();
    setValue('');
    expect(getState()).toBe(before);
    const told: DraftState[] = [];
    subscribe((state) => told.push(state));
    setText('a');
    setText('a');
    expect(told).toEqual([before, getState()]);
  });

  test('[DRAFT8] wrong arguments are INVALID_ARGUMENT', () => {
    const save = async () => {};
    const wrong = [
      () => draft(undefined as never, save),
      () => draft('', undefined as never),
      () => draft('', save, { delayMs: -1 }),
      () => draft('', save, { delayMs: Number.NaN }),
      () => draft('', save, { delayMs: '5' as never }),
      () => draft('', save).setText(5 as never),
      () => draft('', save).setValue(null as never),
      () => draft('', save).resolve('ours' as never),
    ];
    for (const call of wrong) {
      expect(call).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
    }
  });
});

test('[DRAFT8] a save that returns no promise, such as a cursor, has failed', async () => {
  const typed = draft('', (() => ({ ready: Promise.resolve() })) as never);
  typed.setText('a');
  await typed.flush();
  expect(typed.getState().error).toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('ready'),
  });
});

type Step =
  | { readonly do: 'key' | 'flush' | 'mine' | 'theirs' | 'foreign' | 'undo' }
  | { readonly do: 'wait'; readonly ms: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.constant({ do: 'key' } as const) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat(400) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('flush', 'mine', 'theirs', 'foreign', 'undo'),
    }) as fc.Arbitrary<Step>,
  },
);

/** The course of one save: the times until it is stored, answered and reported, and whether it or its answer fails. */
const saveCourse = fc.record({
  storeMs: fc.nat(100),
  answerMs: fc.nat(100),
  tellMs: fc.nat(500),
  end: fc.constantFrom('good', 'good', 'good', 'refused', 'lost'),
});

test('[DRAFT1] in random runs of typing, foreign changes and failing saves, no letter is lost, and the text ends saved', async () => {
  const runs = fc.asyncProperty(
    fc.array(step, { minLength: 1, maxLength: 40 }),
    fc.infiniteStream(saveCourse),
    fc.boolean(),
    fc.constantFrom(0, 30, 300),
    async (steps, courses, compares, delayMs) => {
      vi.clearAllTimers();
      const store = new Store();
      let savesSucceed = false;
      const save = async (text: string, base: string) => {
        const { storeMs, answerMs, tellMs, end } = courses.next().value;
        await wait(storeMs);
        if (end === 'refused' && !savesSucceed) throw new Error('refused');
        if (compares && store.text !== base && store.text !== text) throw new Error('another text');
        store.commit(text, tellMs);
        await wait(answerMs);
        if (end === 'lost' && !savesSucceed) throw new Error('lost');
      };
      const typed = draft('', save, { delayMs });
      store.report = typed.setValue;
      let [last, keys] = [typed.getState(), 0];
      let isOwn = false;
      typed.subscribe((state) => {
        const isReplaced = state.text !== last.text && !isOwn;
        if (isReplaced) expect(last.state).toBe('saved');
        if (state.state === 'saved') expect(store.history).toContain(state.text);
        last = state;
      });
      const act = (task: () => void) => {
        isOwn = true;
        task();
        isOwn = false;
      };
      let before = '';
      for (const now of steps) {
        if (now.do === 'wait') await pass(now.ms);
        else if (now.do === 'key') act(() => typed.setText(`${textOf(typed)}${keys++},`));
        else if (now.do === 'flush') void typed.flush();
        else if (now.do === 'foreign') {
          before = store.text;
          store.commit(`${store.text}f${keys++},`, 50);
        } else if (now.do === 'undo') store.commit(before, 50);
        else act(() => typed.resolve(now.do as 'mine'));
      }
      savesSucceed = true;
      for (let tries = 0; tries < 4; tries++) {
        await pass(12_000);
        act(() => typed.resolve('mine'));
        void typed.flush();
      }
      await pass(12_000);
      expect(stateOf(typed)).toBe('saved');
      expect(textOf(typed)).toBe(store.text);
    },
  );
  await fc.assert(runs, { numRuns: 300 });
});
