// The host of one test file: prepared before anything is imported, started with the modules of the Worker, closed when
// the file ends.
//
// Invariant: a thread has at most one, and all code of the thread sees its globals and its clock, as in workerd. A host
// keeps its objects in memory, so no file sees the data of another.

import { FREE } from '../../src/shared/calls/stubs/party.ts';
import { storageError } from '../../src/shared/contract/errors.ts';
import type { Objects } from '../../src/shared/contract/object-management.ts';
import { MemoryMedium } from '../engine/file/medium.ts';
import { MemoryCatalog } from '../objects/catalog/catalog.ts';
import type { GivenBindings } from '../objects/entries/env-bindings.ts';
import type { ClassTable } from '../objects/instance/object-class.ts';
import { appOf, provideEnv, provideMore } from '../realm/library/provided-env.ts';
import { wholeRealm } from '../realm/modules/whole-realm.ts';
import { nodePlatform } from '../start/entries/node-platform.ts';
import { type InProcessOptions, objectsOn } from '../start/entries/objects-on.ts';
import { missingBinding } from './missing-binding.ts';

/** The Worker under test, as the plugin for Vitest reads it from the configuration. */
export interface TestApp {
  readonly classes: readonly { readonly name: string; readonly storage: 'sql' | 'kv' }[];
  readonly options: InProcessOptions;
  /** Members of `env` that do not exist here, by name, with their sections. */
  readonly missing: Readonly<Record<string, string>>;
}

/** The modules of the Worker under test, as Vitest has evaluated them. */
export interface TestModules {
  readonly main: Readonly<Record<string, unknown>>;
  /** Workers beside it, by name. */
  readonly workers: NonNullable<InProcessOptions['workers']>;
}

/** A test stands for a Worker: its stubs break with the instances of their objects. */
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

  /** Shows `env` and the globals to modules that use them while they are evaluated. */
  prepare(app: TestApp): void {
    this.#releaseGlobals = wholeRealm.hold();
    const given = Object.entries(app.missing).map(([name, section]) => [
      name,
      missingBinding(name, section),
    ]);
    const bindings = { ...app.options.bindings, ...Object.fromEntries(given) } as GivenBindings;
    const options = { ...app.options, bindings };
    this.#state = { kind: 'prepared', app: { ...app, options } };
    const { env = {}, scriptName, services = {}, compatibilityFlags = [] } = options;
    provideEnv(env, {
      bindings,
      services,
      compatibilityFlags,
      ...(scriptName !== undefined && { scriptName }),
    });
  }

  /** Members of `env` in place of those of the configuration, before the modules that read them are evaluated. */
  replace(doubles: GivenBindings): void {
    const { app } = this.#prepared;
    const bindings = { ...app.options.bindings, ...doubles } as GivenBindings;
    this.#state = { kind: 'prepared', app: { ...app, options: { ...app.options, bindings } } };
    provideMore(doubles);
  }

  /** Starts the host. @throws INVALID_ARGUMENT before `prepare`; CLASS_INVALID */
  async start(modules: TestModules): Promise<void> {
    const { app } = this.#prepared;
    this.#state = { kind: 'started', objects: await hostOf(app, modules) };
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
      'The Worker under test does not run: it starts before the test file is imported, and ends after its last test.',
    );
  }

  /** Ends what still runs. */
  async end(): Promise<void> {
    const state = this.#state;
    this.#state = UNPREPARED;
    provideEnv({});
    if (state.kind === 'started') await state.objects.close();
    this.#releaseGlobals();
  }
}

async function hostOf(
  { classes, options }: TestApp,
  { main, workers }: TestModules,
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
  const platform = {
    ...(await nodePlatform()),
    medium: new MemoryMedium(),
    catalog: new MemoryCatalog(),
    isDedicated: true,
    outside: OF_WORKER,
  };
  const whole = { ...options, exports: main, workers };
  return objectsOn(platform, appOf(table, whole), whole);
}
