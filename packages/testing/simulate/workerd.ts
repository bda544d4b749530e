// Hosts of a run in real workerd, through miniflare, in which the calls of a script and its own clients meet the
// platform.
//
// workerd has its own time, order and random numbers, so a seed decides the calls but not their order. Only few faults
// can be injected. Invariant: miniflare's code runs outside of the run, whose timers are not real.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { storageError } from '@ctx-storage/core/errors';
import type { Miniflare, MiniflareOptions } from 'miniflare';
import type { FaultName } from './plan.ts';
import { scope } from './scope.ts';
import type { Files, HostOfRun, HostOptions, StartHost } from './simulated-host.ts';

export interface WorkerdOptions {
  /** The module that exports the classes, by their names in `env`. TypeScript is bundled without a check. */
  readonly module: URL | string;
  /** The compatibility date. @default the latest date that the installed workerd knows */
  readonly compatibilityDate?: string;
  readonly compatibilityFlags?: readonly string[];
}

/** The faults that can be injected into workerd: it restarts at rest, and a reply is lost on its way. */
export const WORKERD_FAULTS: readonly FaultName[] = ['eviction', 'replyLost'];

const ENTRY = 'SimulatedCalls';
const TARGET = 'x-simulated-object';

/** An object, as the calls name it. */
interface Target {
  readonly className: string;
  readonly id: string;
  readonly name: string | undefined;
}

type CallOutcome =
  | { readonly value: unknown }
  | { readonly error: Readonly<Record<string, unknown>> & { readonly message: string } };

/** The entry points of the worker that the run calls. */
interface Calls {
  call(target: Target, method: string, args: readonly unknown[]): Promise<CallOutcome>;
}

interface Namespace {
  idFromName(name: string): object;
  newUniqueId(): object;
}

/**
 * The source of a worker that stands beside the user's classes: it calls their objects, and returns errors as values.
 */
const entrySource = (module: string) => `
  import { WorkerEntrypoint } from 'cloudflare:workers';
  export * from ${JSON.stringify(module)};
  const stubOf = (env, { className, id, name }) =>
    name === undefined
      ? env[className].get(env[className].idFromString(id))
      : env[className].getByName(name);
  export class ${ENTRY} extends WorkerEntrypoint {
    async call(target, method, args) {
      try {
        return { value: await stubOf(this.env, target)[method](...args) };
      } catch (error) {
        if (!(error instanceof Error)) return { error: { message: String(error) } };
        const { name, message, retryable, overloaded, remote } = error;
        return { error: { name, message, retryable, overloaded, remote } };
      }
    }
  }
  export default {
    fetch(request, env) {
      return stubOf(env, JSON.parse(request.headers.get('${TARGET}'))).fetch(request);
    },
  };`;

export interface WorkerdHosts {
  readonly start: StartHost;
  /** Removes the stored data of all runs. */
  end(): Promise<void>;
}

/**
 * Bundles the classes for workerd.
 *
 * @throws INVALID_ARGUMENT without miniflare and esbuild, and errors of the bundle
 */
export async function workerdHosts(
  options: WorkerdOptions,
  classNames: readonly string[],
): Promise<WorkerdHosts> {
  const [{ Miniflare }, { build }] = await Promise.all([
    import('miniflare'),
    import('esbuild'),
  ]).catch((cause: unknown) => {
    throw storageError(
      'INVALID_ARGUMENT',
      `simulate: the option workerd needs two packages: npm install -D miniflare esbuild. ${(cause as Error).message}`,
      { cause },
    );
  });
  const { module, compatibilityDate, compatibilityFlags = [] } = options;
  const path = module instanceof URL || module.startsWith('file:') ? fileURLToPath(module) : module;
  const { outputFiles } = await build({
    stdin: { contents: entrySource(path), resolveDir: process.cwd() },
    alias: { 'ctx-storage/worker': 'cloudflare:workers' },
    external: ['cloudflare:*', 'node:*'],
    conditions: ['workerd', 'worker', 'import'],
    bundle: true,
    format: 'esm',
    write: false,
    logLevel: 'silent',
  });
  const root = await mkdtemp(join(tmpdir(), 'ctx-storage-simulate-'));
  const folders = new WeakMap<Files, string>();
  const settings = (folder: string): MiniflareOptions => ({
    name: 'simulated',
    modules: true,
    script: outputFiles[0]!.text,
    ...(compatibilityDate !== undefined && { compatibilityDate }),
    compatibilityFlags: [...compatibilityFlags],
    durableObjects: Object.fromEntries(
      classNames.map((name) => [name, { className: name, useSQLite: true }]),
    ),
    serviceBindings: { [ENTRY]: { name: 'simulated', entrypoint: ENTRY } },
    durableObjectsPersist: folder,
  });
  return {
    start: (host) => {
      let folder = folders.get(host.files);
      if (folder === undefined) folders.set(host.files, (folder = join(root, crypto.randomUUID())));
      return scope.exit(async () => {
        const miniflare = new Miniflare(settings(folder));
        return new WorkerdHost(host, miniflare, await miniflare.getBindings());
      });
    },
    end: () => rm(root, { recursive: true, force: true }),
  };
}

class WorkerdHost implements HostOfRun {
  readonly env: Record<string, object>;
  readonly isLost = false;
  readonly restartsAtRest = true;
  lateMs = 0;
  readonly #host: HostOptions;
  readonly #miniflare: Miniflare;
  readonly #calls: Calls;

  constructor(host: HostOptions, miniflare: Miniflare, bindings: Record<string, unknown>) {
    this.#host = host;
    this.#miniflare = miniflare;
    this.#calls = bindings[ENTRY] as Calls;
    const names = Object.keys(host.classes);
    this.env = Object.fromEntries(
      names.map((name) => [name, this.#namespace(name, bindings[name] as Namespace)]),
    );
  }

  get files(): Files {
    return this.#host.files;
  }

  /** workerd does not report which objects are in memory. */
  inMemory(): [] {
    return [];
  }

  async alarmOf(): Promise<null> {
    return null;
  }

  async databaseOf(): Promise<undefined> {}

  async reset(): Promise<void> {
    throw new Error('workerd cannot be told to reset an object.');
  }

  async lose(): Promise<Files> {
    throw new Error('workerd cannot be told to crash.');
  }

  close(): Promise<void> {
    return scope.exit(() => this.#miniflare.dispose());
  }

  #namespace(className: string, objects: Namespace): object {
    const idOf = (id: object, name?: string) => {
      const text = scope.exit(() => String(id));
      return {
        ...(name !== undefined && { name }),
        toString: () => text,
        equals: (other: object) => String(other) === text,
      };
    };
    const get = (id: { readonly name?: string }) => this.#stub(className, id);
    const idFromName = (name: string) =>
      idOf(
        scope.exit(() => objects.idFromName(name)),
        name,
      );
    return {
      idFromName,
      newUniqueId: () => idOf(scope.exit(() => objects.newUniqueId())),
      idFromString: (text: string) => {
        const known = this.#host.activity.objects.get(text)?.name;
        return idOf(Object(text) as object, known);
      },
      get,
      getByName: (name: string) => get(idFromName(name)),
    };
  }

  #stub(className: string, id: { readonly name?: string }): object {
    const { name } = id;
    const target: Target = { className, id: String(id), name };
    return new Proxy(
      {},
      {
        get: (_, member) => {
          if (member === 'id') return id;
          if (member === 'name') return name;
          if (typeof member === 'symbol' || member === 'then') return undefined;
          this.#host.activity.noteObject(target);
          if (member === 'fetch') {
            return (...given: ConstructorParameters<typeof Request>) =>
              this.#fetch(target, new Request(...given));
          }
          return (...args: unknown[]) => this.#call(target, member, args);
        },
      },
    );
  }

  async #call(target: Target, method: string, args: readonly unknown[]): Promise<unknown> {
    const outcome = await scope.exit(() => this.#calls.call(target, method, args));
    if ('value' in outcome) return outcome.value;
    const { message, ...members } = outcome.error;
    throw Object.assign(new Error(message), members);
  }

  async #fetch(target: Target, request: Request): Promise<unknown> {
    const { method, url } = request;
    const headers = { ...Object.fromEntries(request.headers), [TARGET]: JSON.stringify(target) };
    const body = request.body === null ? undefined : await request.arrayBuffer();
    return scope.exit(() =>
      this.#miniflare.dispatchFetch(url, { method, headers, ...(body && { body }) }),
    );
  }
}
