// The host of one test file. It is prepared before anything is imported, started with the modules of the Worker, and
// closed when the file ends.
//
// Invariant: a thread has at most one such host, and all code of the thread sees the host's globals and clock, as in
// workerd. A host stores its objects in memory, so no file sees the data of another file.

import { FREE } from '@ctx-storage/core/calls';
import { storageError } from '@ctx-storage/core/errors';
import type { Objects } from '@ctx-storage/core/object';
import { installHtmlRewriter } from '@ctx-storage/html-rewriter';
import { MemoryMedium } from '@ctx-storage/worker/engine';
import { nodePlatform } from '@ctx-storage/worker/node-platform';
import type { ClassTable, GivenBindings } from '@ctx-storage/worker/objects';
import { MemoryCatalog } from '@ctx-storage/worker/objects';
import {
  appOf,
  DurableObject,
  latestProvided,
  provideEnv,
  provideMore,
  WorkerEntrypoint,
  wholeRealm,
} from '@ctx-storage/worker/realm';
import { type InProcessOptions, objectsOn } from '@ctx-storage/worker/start';
import { missingBinding } from './missing-binding.ts';
import { callsMock, mustHaveNoMocks } from './mocked-modules.ts';

/** The Worker under test, as the plugin for Vitest reads it from the configuration. */
export interface TestApp {
  readonly classes: readonly { readonly name: string; readonly storage: 'sql' | 'kv' }[];
  readonly options: InProcessOptions;
  /** The members of `env` that do not exist here, by name, with the sections that declare them. */
  readonly missing: Readonly<Record<string, string>>;
  /** Whether `process.env` has the values of `env`. @default false */
  readonly populatesProcessEnv?: boolean;
}

/** The modules of the Worker under test, as Vitest has evaluated them. */
export interface TestModules {
  readonly main: Readonly<Record<string, unknown>>;
  /** The Workers beside the Worker under test, by name. */
  readonly workers: NonNullable<InProcessOptions['workers']>;
}

/** The I/O of a test is that of a Worker: its stubs break with the instances of their objects. */
const { reach: _, ...OF_WORKER } = FREE;

type State =
  | { readonly kind: 'unprepared' }
  | { readonly kind: 'prepared'; readonly app: TestApp }
  | { readonly kind: 'started'; readonly objects: Objects<object> };

const UNPREPARED: State = { kind: 'unprepared' };

/** The life of the host of this thread. */
export class TestHost {
  #state: State = UNPREPARED;
  #releaseGlobals = () => {};
  #restoreProcessEnv = () => {};
  /** The host of the bindings until the Worker is imported. */
  #bindings: Objects<object> | undefined;
  /** The storage and the catalog with the data of this file. */
  #media = { medium: new MemoryMedium(), catalog: new MemoryCatalog() };

  /** Shows `env` and the globals to modules that use them while they are evaluated. */
  prepare(app: TestApp): void {
    wholeRealm.extend(installHtmlRewriter);
    this.#releaseGlobals = wholeRealm.hold();
    const given = Object.entries(app.missing).map(([name, section]) => [
      name,
      missingBinding(name, section),
    ]);
    const bindings = { ...app.options.bindings, ...Object.fromEntries(given) } as GivenBindings;
    const options = { ...app.options, bindings };
    if (app.populatesProcessEnv) this.#restoreProcessEnv = addToProcessEnv(options.env ?? {});
    this.#state = { kind: 'prepared', app: { ...app, options } };
    const { env = {}, scriptName, services = {}, compatibilityFlags = [] } = options;
    provideEnv(env, {
      bindings,
      services,
      compatibilityFlags,
      ...(scriptName !== undefined && { scriptName }),
    });
  }

  /** Replaces members of the configuration's `env`. Call this before the modules that read them are evaluated. */
  replace(doubles: GivenBindings): void {
    const { app } = this.#prepared;
    const bindings = { ...app.options.bindings, ...doubles } as GivenBindings;
    this.#state = { kind: 'prepared', app: { ...app, options: { ...app.options, bindings } } };
    provideMore(doubles);
  }

  /** True if the test file, or a setup file, mocks modules. The Worker is then imported after these files. */
  isMocked(setupFiles: readonly string[], testFile: string | undefined): boolean {
    return callsMock([...setupFiles, testFile]);
  }

  /**
   * Checks that no module is mocked too late.
   *
   * @throws INVALID_ARGUMENT if a module is mocked, and the Worker has imported it already
   */
  mustHaveNoMocks(): void {
    mustHaveNoMocks();
  }

  /**
   * Starts the bindings before the modules of the Worker are imported, so that a setup file can use them, for example
   * to migrate a database.
   */
  async startBindings(): Promise<void> {
    const { app } = this.#prepared;
    this.#bindings = await bindingsOf(app, this.#media);
  }

  /** Starts the host. @throws INVALID_ARGUMENT before `prepare`; CLASS_INVALID */
  async start(modules: TestModules): Promise<void> {
    const { app } = this.#prepared;
    await this.#bindings?.close();
    this.#bindings = undefined;
    this.#state = { kind: 'started', objects: await hostOf(app, modules, this.#media) };
  }

  get #prepared(): State & { readonly kind: 'prepared' } {
    if (this.#state.kind === 'prepared') return this.#state;
    throw storageError(
      'INVALID_ARGUMENT',
      'cloudflare:test belongs to tests that Vitest runs with cloudflareTest() of ctx-storage/vitest in its plugins.',
    );
  }

  /** The running host. @throws CONNECTION_CLOSED */
  get objects(): Objects<object> {
    if (this.#state.kind === 'started') return this.#state.objects;
    throw storageError(
      'CONNECTION_CLOSED',
      'The Worker under test does not run: it starts before the test file is imported, or after that if the file calls ' +
        'vi.mock(), and ends after its last test.',
    );
  }

  /** Closes the host, and the host of the bindings if it still runs. */
  async end(): Promise<void> {
    const state = this.#state;
    this.#state = UNPREPARED;
    provideEnv({});
    await this.#bindings?.close();
    if (state.kind === 'started') await state.objects.close();
    this.#restoreProcessEnv();
    this.#releaseGlobals();
  }
}

/**
 * Adds the values to `process.env`, and keeps the other values, which Vitest uses. The returned function restores the
 * earlier values.
 */
function addToProcessEnv(values: object): () => void {
  const before = { ...process.env };
  for (const [name, value] of Object.entries(values)) {
    process.env[name] = typeof value === 'string' ? value : JSON.stringify(value);
  }
  return () => {
    for (const name of Object.keys(values)) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  };
}

async function hostOf(
  { classes, options }: TestApp,
  { main, workers }: TestModules,
  media: Media,
): Promise<Objects<object>> {
  const table: Record<string, ClassTable[string]> = {};
  for (const { name, storage } of classes) {
    if (main[name] === undefined) {
      throw storageError(
        'CLASS_INVALID',
        `The configuration names class ${name}, and the main module exports nothing of that name; export the class.`,
      );
    }
    table[name] = { class: main[name] as never, storage };
  }
  const whole = { ...options, exports: main, workers };
  return objectsOn(await platformWith(media), appOf(table, whole), whole);
}

/**
 * Starts the host of the bindings' own classes. Classes and entry points of the Worker are replaced by stand-ins, whose
 * errors say that the Worker is not loaded yet.
 */
async function bindingsOf({ classes, options }: TestApp, media: Media): Promise<Objects<object>> {
  const { crons: _crons, services = {}, ...rest } = options;
  const table = classes.map(({ name, storage }) => [
    name,
    {
      storage,
      class: class extends DurableObject {
        constructor(...given: [never, never]) {
          super(...given);
          throw notImported(`an object of class ${name}`);
        }
      },
    },
  ]);
  const names = Object.values(services).map((to) => (to as { entrypoint?: string }).entrypoint);
  const exports = ['default', ...names].map((name) => [
    name,
    class extends WorkerEntrypoint {
      constructor(...given: [never, never]) {
        super(...given);
        throw notImported(`the entry point ${name}`);
      }
    },
  ]);
  const whole = { ...rest, exports: Object.fromEntries(exports) };
  const app = appOf(Object.fromEntries(table), whole);
  const { env } = latestProvided();
  return objectsOn(
    await platformWith(media),
    { ...app, share: () => ({ env, leave: () => {} }) },
    whole,
  );
}

interface Media {
  readonly medium: MemoryMedium;
  readonly catalog: MemoryCatalog;
}

async function platformWith(media: Media) {
  return { ...(await nodePlatform()), ...media, isDedicated: true, outside: OF_WORKER };
}

function notImported(callee: string): Error {
  return storageError(
    'INVALID_ARGUMENT',
    `A test calls ${callee} while its file is imported. The file or a setup file calls vi.mock(), so the Worker is ` +
      'imported after it: call it in a test or in beforeAll().',
  );
}
