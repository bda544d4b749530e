// Runs code: the visitor's own and trusted code in this origin, with lasting storage; a stranger's code in a sandbox.

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

/** The handle of running code. */
export interface Runner {
  readonly calls: Calls;
  readonly classes: readonly string[];
  open(target: Target): Promise<OpenedObject>;
  /** The status of the connection; null in a sandbox. */
  readonly status: ConnectionStatus | null;
  /** Replaces the running code by another version; null means that the other version must be started anew. */
  readonly replace: ((files: Readonly<Record<string, string>>) => Promise<void>) | null;
  /** Ends the running code. The next call starts it again if it runs in this origin. */
  stop(): void;
  close(): void;
}

/** The history and the storage of an object whose code runs. */
export interface OpenedObject {
  readonly time: ObjectTime;
  /** The storage of the object; null in a sandbox. */
  readonly storage: RemoteStorage | null;
  close(): void;
}

type Listen = (entry: ConsoleEntry) => void;

/** Runs code in this origin, with a directory of its own. The signal ends it while it loads. */
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
 * Runs code in a document without an origin, storage or network. Its objects are in memory and end with the document,
 * and its messages are only shown as text. The signal ends it while it loads. No time limit does, because slow devices
 * need long even for harmless code.
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
