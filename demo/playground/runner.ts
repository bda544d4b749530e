// Where code runs: the visitor's own code in this origin, with storage that is kept; a stranger's in a sandbox.

import { wasmAddress, workerText } from 'virtual:playground-sandbox';
import { type ConsoleEntry, connectSource, type SourceObjects } from '../../src/connect-source.ts';
import type { ConnectionStatus, RemoteStorage } from '../../src/index.ts';
import { type Calls, callsOf, type Target } from './calls.ts';

/** Code that runs. */
export interface Runner {
  readonly calls: Calls;
  readonly classes: readonly string[];
  /** Null: nothing of it is stored here. */
  storage(target: Target): Promise<RemoteStorage> | null;
  /** Null: in a sandbox. */
  readonly status: ConnectionStatus | null;
  replace(files: Readonly<Record<string, string>>): Promise<void>;
  /** Ends what runs; afterwards, code of the visitor's own runs again with the next call. */
  stop(): void;
  close(): void;
}

type Listen = (entry: ConsoleEntry) => void;

/** In this origin: `id` names the space that the code has for itself. */
export async function runOwn(
  id: string,
  files: Readonly<Record<string, string>>,
  onConsole: Listen,
): Promise<Runner> {
  const objects: SourceObjects<Record<string, object>> = await connectSource(files, {
    directory: `playground-${id}`,
    onConsole,
  });
  return {
    calls: callsOf(objects),
    get classes() {
      return objects.classes;
    },
    storage: ({ className, name }) => objects.storage(objects.env[className]!.getByName(name)),
    status: objects,
    replace: (next) => objects.replace(next),
    stop: () => objects.stop(),
    close: () => objects.close(),
  };
}

/** How long a stranger's code may take to load. */
const LOAD_MS = 10_000;

/**
 * In a document without an origin, without storage and without network, and in memory: it ends with the document.
 * What comes from there is shown as text, and nothing else is done with it.
 */
export async function runSandboxed(
  files: Readonly<Record<string, string>>,
  onConsole: Listen,
): Promise<Runner> {
  const [text, wasm] = await Promise.all([workerText(), fetchBytes(wasmAddress)]);
  const { openSandbox } = await import('../sandbox/open-sandbox.ts');
  const sandbox = await openSandbox(text, wasm, onConsole);
  try {
    const classes = await within(LOAD_MS, sandbox.load(files));
    return {
      calls: sandbox.calls,
      classes,
      storage: () => null,
      status: null,
      replace: () => Promise.reject(new Error('Keep the code to change it.')),
      stop: sandbox.close,
      close: sandbox.close,
    };
  } catch (error) {
    sandbox.close();
    throw error;
  }
}

async function fetchBytes(address: string): Promise<ArrayBuffer> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address} could not be loaded: ${response.status}.`);
  return response.arrayBuffer();
}

async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`The code did not load within ${limitMs / 1000} s and was stopped.`));
    }, limitMs);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
