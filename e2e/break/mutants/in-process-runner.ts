// A test runner of StrykerJS that loads the tests of a slice once and runs them for each mutant.
//
// A mutant meets the tests that reach it one by one: first the tests that noticed mutants of its file,
// then the fastest. A failure counts only if the same test passes without the mutant; otherwise an
// earlier mutant has spoilt the modules, and both are tried again with new ones. Tests that fail even
// without a mutant (they need Vitest itself) are left out, and named.
//
// Stryker replaces the process when a mutant hangs it, so the findings of the first run are kept in a
// file.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, expectTypeOf, vi } from 'vitest';
import { type DeclaredTest, DeclaredTests, type Group } from './declared-tests.ts';
import { FUNCTIONS, writeBundle } from './test-bundle.ts';

const REPOSITORY = join(import.meta.dirname, '../../..');
const MIN_TIMEOUT_MS = 3_000;
const TIMEOUT_FACTOR = 3;
/** A loop is endless if it runs this many times as many rounds as without the mutant; it is then stopped. */
const HITS_FACTOR = 20;
const MIN_HITS = 500;
const CACHES = (process.env.MUTANT_CACHES ?? '').split('\n').filter((file) => file !== '');
/** Tests that take longer are left out: a mutant that only they notice counts as a survivor. */
const TEST_MS_MAX = Number(process.env.MUTANT_TEST_MS || Number.POSITIVE_INFINITY);
const FOUND_FILE = 'mutant-tests-found.json';

// The realm of a test host replaces these.
const { setTimeout, clearTimeout, setImmediate, performance } = globalThis;
/** The limit of the hooks that end a file: hooks of modules that a mutant has broken may not end. */
const ENDS_MS_MAX = 1_000;

/** The members that changed sources read and write. */
interface Instrumentation {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  hitCount?: number | undefined;
  hitLimit?: number | undefined;
  mutantCoverage?: { readonly static: object; readonly perTest: HitCounts };
}

/** How often each test reaches each mutant. */
type HitCounts = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** The findings of the run without mutants. */
interface Found {
  readonly durationMs: Record<string, number>;
  readonly hits: HitCounts;
}

interface MutantRun {
  readonly activeMutant: {
    readonly id: string;
    readonly fileName: string;
    readonly replacement: string;
    readonly location: { readonly start: { readonly line: number } };
  };
  readonly testFilter?: readonly string[];
}

class Hang extends Error {}

class InProcessRunner {
  readonly #state: Instrumentation;
  readonly #warn: (text: string) => void;
  #found: Found = { durationMs: {}, hits: {} };
  /** The tests that noticed mutants of each source, the latest first. */
  readonly #noticedBy = new Map<string, string[]>();
  #bundle = '';
  #generation = 0;
  #tests: ReadonlyMap<string, DeclaredTest> = new Map();
  /** Members of the global scope before the first test. */
  #globals: Members | null = null;
  #stray: unknown;

  constructor(logger: { warn(text: string): void }) {
    const global = globalThis as unknown as { __stryker__?: Instrumentation };
    global.__stryker__ ??= {};
    this.#state = global.__stryker__;
    this.#warn = (text) => logger.warn(text);
  }

  capabilities() {
    return { reloadEnvironment: true };
  }

  async init(): Promise<void> {
    const files = process.env.MUTANT_TESTS!.split('\n').map((file) => join(process.cwd(), file));
    this.#bundle = join(process.cwd(), `mutant-tests-${process.pid}.mjs`);
    await writeBundle(files, this.#bundle);
    const stray = (reason: unknown) => {
      this.#stray = reason ?? new Error('a rejection without a reason');
    };
    process.on('unhandledRejection', stray);
    process.on('uncaughtException', stray);
    for (const name of ['log', 'info', 'warn', 'error', 'debug'] as const) console[name] = () => {};
    if (existsSync(FOUND_FILE)) this.#found = JSON.parse(readFileSync(FOUND_FILE, 'utf8'));
    await this.#load();
  }

  async dryRun() {
    const tests: object[] = [];
    const durationMs: Record<string, number> = {};
    for (const { id, file } of this.#tests.values()) {
      const beginMs = performance.now();
      this.#state.currentTestId = id;
      const failure = await this.#run(id, 60_000);
      this.#state.currentTestId = undefined;
      const timeSpentMs = performance.now() - beginMs;
      durationMs[id] = timeSpentMs;
      if (timeSpentMs > TEST_MS_MAX) this.#warn(`Too slow: ${id}`);
      else if (failure === null)
        tests.push({ id, name: id, fileName: file, timeSpentMs, status: 0 });
      else this.#warn(`Left out: ${id}: ${failure.message.split('\n')[0]}`);
    }
    this.#found = { durationMs, hits: this.#state.mutantCoverage?.perTest ?? {} };
    writeFileSync(FOUND_FILE, JSON.stringify(this.#found));
    return { status: 'complete', tests, mutantCoverage: this.#state.mutantCoverage };
  }

  async mutantRun(run: MutantRun) {
    const result = await this.#tryMutant(run);
    // Said at once: a slice takes long, and survivors can be read meanwhile.
    const { fileName, location, replacement } = run.activeMutant;
    const place = `${relative(REPOSITORY, fileName)}:${location.start.line + 1}`;
    if (result.status === 'survived') this.#warn(`Survived: ${place} -> ${replacement}`);
    return result;
  }

  async #tryMutant({ activeMutant, testFilter }: MutantRun) {
    const { id: mutant, fileName } = activeMutant;
    const order = this.#order(fileName, testFilter ?? Object.keys(this.#found.durationMs));
    const judge = (id: string) => this.#judge(id, mutant);
    const result = await this.#runAll(order, fileName, judge);
    if (result.status === 'killed' || !CACHES.some((file) => fileName.endsWith(file)))
      return result;
    // Remembered state of the modules may have hidden it.
    await this.#load();
    const again = await this.#runAll(order, fileName, (id) => this.#judgeSetUp(id, mutant));
    await this.#load();
    return again;
  }

  async #runAll(
    order: readonly string[],
    fileName: string,
    judge: (id: string) => Promise<Error | null>,
  ) {
    for (const [index, id] of order.entries()) {
      const failure = await judge(id);
      if (failure === null) continue;
      this.#noticed(fileName, id);
      const nrOfTests = index + 1;
      return { status: 'killed', killedBy: [id], failureMessage: failure.message, nrOfTests };
    }
    return { status: 'survived', nrOfTests: order.length };
  }

  /** Judges a mutant of modules that nothing has used yet: it is active while they are set up. */
  async #judgeSetUp(id: string, mutant: string): Promise<Error | null> {
    const failure = await this.#runWith(id, mutant);
    if (failure === null) return null;
    await this.#load();
    const clean = await this.#run(id, this.#timeoutMs(id));
    return clean === null ? failure : null;
  }

  /** Why `id` fails with the mutant and because of it; null when it does not. */
  async #judge(id: string, mutant: string): Promise<Error | null> {
    await begin(this.#tests.get(id)!);
    const failure = await this.#runWith(id, mutant);
    if (failure === null) return null;
    const after = failure instanceof Hang ? failure : await this.#run(id, this.#timeoutMs(id));
    if (after === null) return failure;
    await this.#load();
    await begin(this.#tests.get(id)!);
    const again = await this.#runWith(id, mutant);
    if (again === null) return null;
    await this.#load();
    const clean = await this.#run(id, this.#timeoutMs(id));
    return clean === null ? again : null;
  }

  async #runWith(id: string, mutant: string): Promise<Error | null> {
    this.#state.hitCount = 0;
    this.#state.hitLimit = MIN_HITS + HITS_FACTOR * (this.#found.hits[id]?.[mutant] ?? 0);
    this.#state.activeMutant = mutant;
    const failure = await this.#run(id, this.#timeoutMs(id));
    this.#state.activeMutant = undefined;
    this.#state.hitLimit = undefined;
    return failure;
  }

  async #run(id: string, timeoutMs: number): Promise<Error | null> {
    this.#stray = undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const hang = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Hang(`no end in ${timeoutMs} ms`)), timeoutMs);
    });
    try {
      await Promise.race([runTest(this.#tests.get(id)!), hang]);
      // Rejections that nobody handles are reported in a later turn.
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#stray !== undefined) throw this.#stray;
      return null;
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    } finally {
      clearTimeout(timer);
    }
  }

  /** New modules, in a global scope without the replacements of the former ones. */
  async #load(): Promise<void> {
    const ended = Promise.allSettled([...this.#tests.values()].map(({ group }) => end(group)));
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, ENDS_MS_MAX))]);
    if (this.#globals !== null) restoreGlobals(this.#globals);
    const declared = new DeclaredTests();
    Object.assign(globalThis, {
      [FUNCTIONS]: { ...declared.functions, expect: polled, expectTypeOf, vi: mocks },
    });
    this.#generation += 1;
    const address = `${pathToFileURL(this.#bundle).href}?${this.#generation}`;
    const files: Record<string, () => Promise<unknown>> = (await import(address)).default;
    for (const [file, load] of Object.entries(files)) await declared.collect(file, load);
    this.#tests = declared.tests;
    this.#globals ??= Object.getOwnPropertyDescriptors(globalThis);
  }

  #order(fileName: string, ids: readonly string[]): readonly string[] {
    const known = this.#noticedBy.get(fileName) ?? [];
    const rank = (id: string) => {
      const place = known.indexOf(id);
      // A slow test comes early only if it has just been of use.
      return this.#found.durationMs[id]! * (place === -1 ? 1 : place / 20);
    };
    return [...ids].sort((one, other) => rank(one) - rank(other));
  }

  #noticed(fileName: string, id: string): void {
    const others = (this.#noticedBy.get(fileName) ?? []).filter((known) => known !== id);
    this.#noticedBy.set(fileName, [id, ...others].slice(0, 12));
  }

  #timeoutMs(id: string): number {
    return MIN_TIMEOUT_MS + TIMEOUT_FACTOR * (this.#found.durationMs[id] ?? 0);
  }
}

/** Vitest's own wait for the clock of its test run, which there is none of here. */
const mocks = Object.assign(Object.create(vi), {
  waitFor: (action: () => unknown) => eventually(action),
  waitUntil: (holds: () => unknown) =>
    eventually(async () => {
      if (!(await holds())) throw new Error('waited for what does not happen');
    }),
});

/** `expect.poll` waits by the same clock: here its matcher is tried again. */
const polled = new Proxy(expect, {
  get: (target, name) => (name === 'poll' ? poll : Reflect.get(target, name)),
});

type Matchers = Record<PropertyKey, (...expected: unknown[]) => void>;

function poll(read: () => unknown): object {
  const tried = (matchersOf: (value: unknown) => unknown) =>
    new Proxy(
      {},
      {
        get:
          (_, name) =>
          (...expected: unknown[]) =>
            eventually(async () => (matchersOf(await read()) as Matchers)[name]!(...expected)),
      },
    );
  const not = tried((value) => expect(value).not);
  return new Proxy(tried(expect), {
    get: (matchers, name) => (name === 'not' ? not : Reflect.get(matchers, name)),
  });
}

async function eventually(action: () => unknown): Promise<unknown> {
  for (const untilMs = performance.now() + 1_000; ; ) {
    try {
      return await action();
    } catch (error) {
      if (performance.now() > untilMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** The hooks before all tests of its groups, once. */
async function begin({ group }: DeclaredTest): Promise<void> {
  for (const each of group.path) {
    each.begun ??= (async () => {
      for (const hook of each.beforeAll) await hook();
    })();
    await each.begun;
  }
}

/** Runs the `afterAll` hooks of a group and of those around it, each once. */
async function end({ path }: Group): Promise<void> {
  for (const each of path.toReversed()) {
    if (each.begun === null) continue;
    each.begun = null;
    for (const hook of each.afterAll) await hook();
  }
}

type Members = Record<string, PropertyDescriptor>;

function restoreGlobals(members: Members): void {
  const now: Members = Object.getOwnPropertyDescriptors(globalThis);
  for (const [name, { value, get, configurable }] of Object.entries(now)) {
    const before = members[name];
    if (configurable !== true || (before?.value === value && before?.get === get)) continue;
    if (before === undefined) Reflect.deleteProperty(globalThis, name);
    else Object.defineProperty(globalThis, name, before);
  }
}

async function runTest(test: DeclaredTest): Promise<void> {
  await begin(test);
  const { path } = test.group;
  try {
    for (const group of path) for (const hook of group.beforeEach) await hook();
    await test.body();
  } finally {
    for (const group of path.toReversed()) {
      for (const hook of group.afterEach.toReversed()) await hook();
    }
  }
}

export const strykerPlugins = [
  {
    kind: 'TestRunner',
    name: 'in-process',
    factory: Object.assign((logger: { warn(text: string): void }) => new InProcessRunner(logger), {
      inject: ['logger'],
    }),
  },
];
