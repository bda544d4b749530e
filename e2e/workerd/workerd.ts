// A script bundled as it is written, and run by workerd.

import type { Readable } from 'node:stream';
import { type BuildOptions, build } from 'esbuild';
import { Miniflare } from 'miniflare';

export interface Script {
  /** The text of its main module; it imports from `folder`. */
  readonly main: string;
  readonly folder: string;
  /** The classes it exports, on SQLite, by the names they are bound to. */
  readonly classes: Readonly<Record<string, string>>;
  readonly name?: string;
  readonly compatibilityDate: string;
  readonly compatibilityFlags?: readonly string[];
  readonly variables?: Readonly<Record<string, number>>;
  /** workerd does not print the errors it meets: the script provokes them. */
  readonly isSilent?: boolean;
  /** Names in `env` to entry points of this script or of others. */
  readonly services?: Readonly<Record<string, Service>>;
  readonly kvNamespaces?: readonly string[];
  readonly d1Databases?: readonly string[];
  readonly r2Buckets?: readonly string[];
  readonly queues?: Readonly<Record<string, Queue>>;
  readonly rateLimits?: Readonly<
    Record<string, { readonly limit: number; readonly period: 10 | 60 }>
  >;
  /** Where it listens. @default on a free port */
  readonly port?: number;
  /** The folder that keeps its objects. @default they end with it */
  readonly persist?: string;
  /** Scripts beside it, without objects. */
  readonly others?: readonly OtherScript[];
  readonly bundling?: Pick<
    BuildOptions,
    'loader' | 'conditions' | 'banner' | 'external' | 'target'
  >;
}

export interface Service {
  readonly service: string;
  readonly entrypoint?: string;
  readonly props?: Record<string, unknown>;
}

/** A queue that the script sends to. */
export interface Queue {
  readonly name: string;
  readonly deliveryDelay?: number;
  /** How the script itself consumes it; null: nobody does. */
  readonly consumer: Readonly<Record<string, string | number>> | null;
}

interface OtherScript {
  readonly name: string;
  readonly main: string;
  readonly env: Readonly<Record<string, string>>;
}

export async function startInWorkerd(script: Script): Promise<Miniflare> {
  const { main, classes, name, compatibilityDate, variables, isSilent } = script;
  const {
    compatibilityFlags = [],
    services,
    kvNamespaces,
    d1Databases,
    r2Buckets,
    queues,
    rateLimits,
    port,
    persist,
    others = [],
  } = script;
  const dated = { modules: true, compatibilityDate, compatibilityFlags: [...compatibilityFlags] };
  const first = {
    ...(name !== undefined && { name }),
    ...dated,
    script: await bundled(main, script),
    ...(port !== undefined && { port }),
    ...(persist !== undefined && { durableObjectsPersist: persist }),
    ...(variables && { bindings: variables }),
    ...(kvNamespaces && { kvNamespaces: [...kvNamespaces] }),
    ...(d1Databases && { d1Databases: [...d1Databases] }),
    ...(r2Buckets && { r2Buckets: [...r2Buckets] }),
    ...(queues && queuesOf(queues)),
    ...(rateLimits && { ratelimits: rateLimitsOf(rateLimits) }),
    ...(services && { serviceBindings: bindingsOf(services) }),
    durableObjects: Object.fromEntries(
      Object.entries(classes).map(([binding, className]) => [
        binding,
        { className, useSQLite: true },
      ]),
    ),
  };
  const beside = others.map(async ({ name, main, env }) => ({
    ...dated,
    name,
    script: await bundled(main, script),
    bindings: { ...env },
  }));
  const silent = isSilent && { handleRuntimeStdio: drain };
  const miniflare = new Miniflare(
    others.length === 0
      ? { ...first, ...silent }
      : { ...silent, workers: [{ ...first, name: name! }, ...(await Promise.all(beside))] },
  );
  await miniflare.ready;
  return miniflare;
}

function queuesOf(queues: Readonly<Record<string, Queue>>) {
  const all = Object.entries(queues);
  return {
    queueProducers: Object.fromEntries(
      all.map(([binding, { name, deliveryDelay }]) => [
        binding,
        { queueName: name, ...(deliveryDelay !== undefined && { deliveryDelay }) },
      ]),
    ),
    queueConsumers: Object.fromEntries(
      all.flatMap(([, { name, consumer }]) => (consumer === null ? [] : [[name, { ...consumer }]])),
    ),
  };
}

function rateLimitsOf(limits: NonNullable<Script['rateLimits']>) {
  return Object.fromEntries(
    Object.entries(limits).map(([binding, simple]) => [binding, { simple, namespace_id: binding }]),
  );
}

function bindingsOf(services: Readonly<Record<string, Service>>) {
  return Object.fromEntries(
    Object.entries(services).map(([binding, { service, ...rest }]) => [
      binding,
      { name: service, ...rest },
    ]),
  );
}

async function bundled(contents: string, { folder, bundling }: Script): Promise<string> {
  const bundle = await build({
    bundle: true,
    write: false,
    format: 'esm',
    stdin: { contents, resolveDir: folder, loader: 'ts' },
    external: ['cloudflare:*', 'node:*'],
    logLevel: 'warning',
    ...bundling,
  });
  return bundle.outputFiles[0]!.text;
}

function drain(...outputs: Readable[]): void {
  for (const output of outputs) output.resume();
}

/** The script's answer to a request, as JSON. */
export async function askWorkerd(script: Script): Promise<unknown> {
  const miniflare = await startInWorkerd(script);
  try {
    const response = await miniflare.dispatchFetch('http://workerd/');
    if (!response.ok) throw new Error(await response.text());
    return await response.json();
  } finally {
    await miniflare.dispose();
  }
}
