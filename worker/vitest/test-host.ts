// The host of one test file: prepared before anything is imported, started with the modules of the Worker, closed when
// the file ends.
//
// Invariant: a thread has at most one, and all code of the thread sees its globals and its clock, as in workerd. A host
// keeps its objects in memory, so no file sees the data of another.

import type { EnvBinding } from '../../src/shared/contract/env-binding.ts';
import { storageError } from '../../src/shared/contract/errors.ts';
import type { Objects } from '../../src/shared/contract/object-management.ts';
import type { TestApp, TestBinding, TestWorker } from '../../src/shared/contract/test-app.ts';
import { kv } from '../bindings/index.ts';
import { MemoryMedium } from '../engine/file/medium.ts';
import { MemoryCatalog } from '../objects/catalog/catalog.ts';
import type { GivenBindings } from '../objects/entries/env-bindings.ts';
import type { ServiceBindings, WorkerOptions } from '../objects/entries/workers.ts';
import type { ClassTable } from '../objects/instance/object-class.ts';
import { appOf, provideEnv } from '../realm/library/provided-env.ts';
import { nodePlatform } from '../start/entries/node-platform.ts';
import { objectsOn } from '../start/entries/objects-on.ts';
import { missingBinding } from './missing-binding.ts';

/** The exports of a module. */
type Exports = Readonly<Record<string, unknown>>;

/** The modules of the Worker under test, as Vitest has evaluated them. */
export interface TestModules {
  readonly main: Exports;
  /** Of the other Workers, in the order of the app. */
  readonly workers: readonly Exports[];
  /** Members of `env` in place of those of the configuration. */
  readonly doubles: Exports;
}

type State =
  | { readonly kind: 'unprepared' }
  | { readonly kind: 'prepared'; readonly app: TestApp }
  | { readonly kind: 'started'; readonly app: TestApp; readonly objects: Promise<Objects<object>> };

const UNPREPARED: State = { kind: 'unprepared' };

/** The life of the host of this thread. */
export class TestHost {
  #state: State = UNPREPARED;
  #objects: Objects<object> | undefined;

  /** Shows `env` to modules that read it while they are evaluated. */
  prepare(app: TestApp): void {
    this.#state = { kind: 'prepared', app };
    const { vars, given } = membersOf(app);
    provideEnv(vars, { bindings: given, scriptName: app.name });
  }

  /**
   * Starts the host, once. @throws CLASS_INVALID
   */
  async start(modules: TestModules): Promise<void> {
    const state = this.#state;
    if (state.kind === 'unprepared') {
      throw storageError(
        'INVALID_ARGUMENT',
        'cloudflare:test belongs to tests that Vitest runs with cloudflareTest() of ctx-storage/vitest in its plugins.',
      );
    }
    if (state.kind === 'prepared') {
      const objects = hostOf(state.app, modules);
      this.#state = { kind: 'started', app: state.app, objects };
    }
    if (this.#state.kind === 'started') this.#objects = await this.#state.objects;
  }

  /** The running host. @throws CONNECTION_CLOSED */
  get objects(): Objects<object> {
    if (this.#objects !== undefined) return this.#objects;
    throw storageError(
      'CONNECTION_CLOSED',
      'The Worker under test does not run: it starts when cloudflare:test is imported, or before the first test, and ' +
        'ends after the last.',
    );
  }

  /** Ends what still runs. */
  async end(): Promise<void> {
    const state = this.#state;
    this.#state = UNPREPARED;
    this.#objects = undefined;
    provideEnv({});
    if (state.kind === 'started') await (await state.objects).close();
  }
}

async function hostOf(
  app: TestApp,
  { main, workers, doubles }: TestModules,
): Promise<Objects<object>> {
  const table: Record<string, ClassTable[string]> = {};
  for (const { name, storage } of app.classes) {
    const exported = main[name];
    if (exported === undefined) {
      throw storageError(
        'CLASS_INVALID',
        `The configuration names class ${name}, and the main module of ${app.name} exports nothing of that name; ` +
          'export the class.',
      );
    }
    table[name] = { class: exported as never, storage };
  }
  const { vars: env, given, services } = membersOf(app);
  const others = app.workers.map((worker, index): [string, WorkerOptions] => [
    worker.name,
    workerOf(worker, workers[index] ?? {}),
  ]);
  const options = {
    env,
    bindings: { ...given, ...doubles } as GivenBindings,
    services,
    exports: main,
    scriptName: app.name,
    workers: Object.fromEntries(others),
    ...(app.compatibilityDate !== undefined && { compatibilityDate: app.compatibilityDate }),
  };
  const platform = {
    ...(await nodePlatform()),
    medium: new MemoryMedium(),
    catalog: new MemoryCatalog(),
    isDedicated: true,
  };
  return objectsOn(platform, appOf(table, options), options);
}

function workerOf(worker: TestWorker, exports: Exports): WorkerOptions {
  const { vars, given, services } = membersOf(worker);
  const bindings: Record<string, string> = {};
  const env: Record<string, unknown> = { ...vars };
  for (const [name, value] of Object.entries(given)) {
    if (typeof value === 'string') bindings[name] = value;
    else env[name] = value;
  }
  return { exports, env, bindings, services };
}

interface Members {
  readonly vars: object;
  readonly given: Readonly<Record<string, string | object>>;
  readonly services: ServiceBindings;
}

function membersOf({ vars, bindings }: TestWorker): Members {
  const given: Record<string, string | object> = {};
  const services: Record<string, ServiceBindings[string]> = {};
  for (const [name, binding] of Object.entries(bindings)) {
    if (binding.kind === 'service') services[name] = binding;
    else given[name] = memberOf(name, binding);
  }
  return { vars, given, services };
}

function memberOf(
  name: string,
  binding: Exclude<TestBinding, { kind: 'service' }>,
): string | EnvBinding | object {
  switch (binding.kind) {
    case 'class':
      return binding.className;
    case 'kv':
      return kv({ id: binding.id });
    case 'missing':
      return missingBinding(name, binding.product);
  }
}
