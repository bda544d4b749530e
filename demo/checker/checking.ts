// Decides when the code on screen is checked, and keeps the result or the reason why it is not checked.
//
// Invariant: an answer is shown for exactly the code that it concerns; answers for older code are dropped. A worker
// that fails or does not answer is ended, and another one starts only when the visitor asks for it. This module does
// not depend on the editor.

import { signal } from '@preact/signals';
import type { CodeFiles, TypeMistake } from './checker.ts';
import type { CheckerApi } from './checker-worker.ts';

export type CheckState =
  /** The state in which no code is checked. */
  | { readonly kind: 'off' }
  | { readonly kind: 'loading' }
  /** The state while a check runs. `before` are the mistakes of the code that was checked last. */
  | { readonly kind: 'checking'; readonly before: readonly TypeMistake[] }
  | {
      readonly kind: 'checked';
      readonly files: CodeFiles;
      readonly mistakes: readonly TypeMistake[];
    }
  | { readonly kind: 'failed'; readonly message: string };

type Asked = { readonly [Name in keyof CheckerApi]: Promised<CheckerApi[Name]> };
type Promised<F> = F extends (...given: infer P) => infer R ? (...given: P) => Promise<R> : never;

/** A checker in a worker that has been started. */
export interface StartedChecker {
  readonly api: Asked;
  /** Is called with the reason when the worker cannot be used. */
  onFailure: (message: string) => void;
  end(): void;
}

/** Runs a function after a delay. The function that it returns cancels that. */
export type Later = (delayMs: number, run: () => void) => () => void;

/** How long to wait for further typing before code is checked. */
export const PAUSE_MS = 300;
/** How long a loaded checker may take for an answer. */
export const ANSWER_MS = 20_000;

export class Checking {
  readonly state = signal<CheckState>({ kind: 'off' });
  readonly #start: () => StartedChecker;
  readonly #later: Later;
  #files: CodeFiles | null = null;
  #run: Run | null = null;
  #cancelPause = () => {};

  constructor(start: () => StartedChecker, later: Later) {
    this.#start = start;
    this.#later = later;
  }

  /** Checks this code after a pause, instead of code that was given before. */
  want(files: CodeFiles): void {
    if (files === this.#files) return;
    const isFirst = this.#files === null;
    this.#files = files;
    if (this.state.value.kind === 'failed') return;
    this.#cancelPause();
    if (isFirst) {
      this.state.value = { kind: 'loading' };
      void this.#check();
      return;
    }
    if (this.state.value.kind === 'checked') {
      this.state.value = { kind: 'checking', before: this.state.value.mistakes };
    }
    this.#cancelPause = this.#later(PAUSE_MS, () => void this.#check());
  }

  /** Starts another worker after a failure and checks again. */
  retry(): void {
    const files = this.#files;
    this.end();
    if (files !== null) this.want(files);
  }

  /** Ends the worker; nothing is checked until code is given again. */
  end(): void {
    this.#cancelPause();
    this.#run?.end();
    this.#run = null;
    this.#files = null;
    this.state.value = { kind: 'off' };
  }

  /** Asks about the code that was given last. Null means that there is none, or that other code was given meanwhile. */
  async ask<T>(question: (api: Asked, files: CodeFiles) => Promise<T>): Promise<T | null> {
    const files = this.#files;
    if (files === null || this.state.value.kind === 'failed') return null;
    this.#run ??= new Run(this.#start(), this.#later, (message) => this.#fail(message));
    const answer = await this.#run.answer((api) => question(api, linesOf(files)));
    return files === this.#files ? answer : null;
  }

  async #check(): Promise<void> {
    const files = this.#files;
    const mistakes = await this.ask((api, files) => api.check(files));
    if (mistakes !== null && files !== null)
      this.state.value = { kind: 'checked', files, mistakes };
  }

  #fail(message: string): void {
    this.#cancelPause();
    this.#run?.end();
    this.#run = null;
    this.state.value = { kind: 'failed', message };
  }
}

/** A worker from its start to its end, after which every question resolves to null. */
class Run {
  readonly #checker: StartedChecker;
  readonly #later: Later;
  #fail: (message: string) => void;
  readonly #ready: Promise<void>;
  readonly #ended: Promise<null>;
  #resolveEnded = (_: null) => {};

  constructor(checker: StartedChecker, later: Later, fail: (message: string) => void) {
    this.#checker = checker;
    this.#later = later;
    this.#fail = fail;
    checker.onFailure = fail;
    this.#ready = checker.api.ready();
    this.#ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  async answer<T>(question: (api: Asked) => Promise<T>): Promise<T | null> {
    let cancel = () => {};
    try {
      await Promise.race([this.#ready, this.#ended]);
      cancel = this.#later(ANSWER_MS, () =>
        this.#fail(`TypeScript gave no answer within ${ANSWER_MS / 1000} s and was ended.`),
      );
      return await Promise.race([question(this.#checker.api), this.#ended]);
    } catch (error) {
      this.#fail(`TypeScript failed: ${(error as Error).message}`);
      return null;
    } finally {
      cancel();
    }
  }

  end(): void {
    this.#fail = () => {};
    this.#checker.end();
    this.#resolveEnded(null);
  }
}

/** Returns the texts with line ends of one character, which is how the editor counts offsets. */
function linesOf(files: CodeFiles): CodeFiles {
  return Object.fromEntries(
    Object.entries(files).map(([path, text]) => [path, text.replaceAll(/\r\n?/g, '\n')]),
  );
}
