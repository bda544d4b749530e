// Where code runs: the visitor's own and trusted code in this origin, with storage that is kept; a stranger's in a sandbox.

import { wasmAddress, workerText } from 'virtual:playground-sandbox';
import {
  type ConsoleEntry,
  connectSource,
  type SourceObjects,
} from '../../packages/entries/connect-source.ts';
import type { ConnectionStatus, RemoteStorage } from '../../src/index.ts';
import { CodeFrame } from '../sandbox/code-frame.ts';
import type { SandboxListener } from '../sandbox/sandbox.ts';
import { type Calls, callsOf, type Target } from './calls.ts';
import { type ObjectTime, timeOf } from './object-time.ts';
import type { SharedData } from './shared-data.ts';

/** Code that runs. */
export interface Runner {
  readonly calls: Calls;
  readonly classes: readonly string[];
  open(target: Target): Promise<OpenedObject>;
  /** Null: in a sandbox. */
  readonly status: ConnectionStatus | null;
  /** Null: another version is started instead. */
  readonly replace: ((files: Readonly<Record<string, string>>) => Promise<void>) | null;
  /** Ends the running code; afterwards, code in this origin runs again with the next call. */
  stop(): void;
  close(): void;
}

/** An object beside its code. */
export interface OpenedObject {
  readonly time: ObjectTime;
  /** Null: in a sandbox. */
  readonly storage: RemoteStorage | null;
  close(): void;
}

type Listen = (entry: ConsoleEntry) => void;

/** In this origin: the code has the directory for itself. The signal ends it while it is loaded. */
export async function runOwn(
  directory: string,
  files: Readonly<Record<string, string>>,
  onConsole: Listen,
  signal: AbortSignal,
): Promise<Runner> {
  const frame = await CodeFrame.open(signal);
  const close = () => frame.close();
  signal.addEventListener('abort', close, { once: true });
  try {
    const objects: SourceObjects<Record<string, object>> = await connectSource(files, {
      directory,
      onConsole,
      worker: () => frame.startSourceWorker(),
    });
    return {
      calls: callsOf(objects),
      get classes() {
        return objects.classes;
      },
      async open({ className, name }) {
        const storage = await objects.storage(objects.env[className]!.getByName(name));
        return { time: timeOf(storage), storage, close: () => void storage.close() };
      },
      status: objects,
      replace: (next) => objects.replace(next),
      stop: () => objects.stop(),
      close() {
        objects.close();
        frame.close();
      },
    };
  } catch (error) {
    frame.close();
    throw error;
  } finally {
    signal.removeEventListener('abort', close);
  }
}

/**
 * In a document without an origin, without storage and without network, and in memory: it ends with the document.
 * Its messages are only shown as text. The signal ends it while it loads, which may take any time: slow devices need
 * long for a harmless code too.
 */
export async function runSandboxed(
  files: Readonly<Record<string, string>>,
  data: SharedData | null,
  listener: SandboxListener,
  signal: AbortSignal,
): Promise<Runner> {
  const [text, wasm] = await Promise.all([workerText(), fetchBytes(wasmAddress)]);
  const { Sandbox } = await import('../sandbox/sandbox.ts');
  signal.throwIfAborted();
  const sandbox = new Sandbox(text, wasm, listener);
  const close = () => sandbox.close();
  signal.addEventListener('abort', close, { once: true });
  try {
    const classes = await sandbox.load(files, data);
    return {
      calls: sandbox.calls,
      classes,
      open: async (target) => ({ time: sandbox.time(target), storage: null, close() {} }),
      status: null,
      replace: null,
      stop: close,
      close,
    };
  } catch (error) {
    sandbox.close();
    throw error;
  } finally {
    signal.removeEventListener('abort', close);
  }
}

async function fetchBytes(address: string): Promise<ArrayBuffer> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address} could not be loaded: ${response.status}.`);
  return response.arrayBuffer();
}
