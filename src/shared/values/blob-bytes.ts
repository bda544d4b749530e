// Reads the bytes of a Blob synchronously, because storage serializes a value during the call.
//
// Workers of browsers have a synchronous reader; pages have none. In Node another thread reads, while the caller's thread
// is blocked.

interface SynchronousFileReader {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

/** The members of Node's `worker_threads` that this file uses. */
interface Threads {
  readonly Worker: new (code: string, options: object) => { unref(): void };
  readonly MessageChannel: new () => { readonly port1: Port; readonly port2: object };
  receiveMessageOnPort(port: Port): { readonly message: Answer } | undefined;
}

interface Port {
  postMessage(blob: Blob): void;
  unref(): void;
}

interface Answer {
  readonly bytes?: ArrayBuffer;
  readonly error?: unknown;
}

interface Globals {
  readonly FileReaderSync?: new () => SynchronousFileReader;
  readonly process?: { getBuiltinModule?(name: string): unknown };
}

/** The longest wait for the reading thread, in case it does not start. */
const READ_MS_MAX = 10_000;

const READING_THREAD = `
  const { workerData } = require('node:worker_threads');
  const { port, count } = workerData;
  port.on('message', async (blob) => {
    try {
      const bytes = await blob.arrayBuffer();
      port.postMessage({ bytes }, [bytes]);
    } catch (error) {
      port.postMessage({ error });
    }
    Atomics.add(count, 0, 1);
    Atomics.notify(count, 0);
  });`;

let thread: BlobThread | undefined;

/** Reads the bytes; null if they cannot be read synchronously. */
export function blobBytes(blob: Blob): Uint8Array | null {
  const { FileReaderSync, process } = globalThis as Globals;
  if (FileReaderSync) return new Uint8Array(new FileReaderSync().readAsArrayBuffer(blob));
  const threads = process?.getBuiltinModule?.('node:worker_threads');
  if (!threads) return null;
  thread ??= new BlobThread(threads as Threads);
  return thread.read(blob);
}

/** The thread that reads Blobs in Node. It does not keep the process alive. */
class BlobThread {
  readonly #threads: Threads;
  readonly #port: Port;
  /** The number of Blobs that the thread has read. */
  readonly #count = new Int32Array(new SharedArrayBuffer(4));

  constructor(threads: Threads) {
    this.#threads = threads;
    const { port1, port2 } = new threads.MessageChannel();
    this.#port = port1;
    port1.unref();
    const workerData = { port: port2, count: this.#count };
    new threads.Worker(READING_THREAD, { eval: true, workerData, transferList: [port2] }).unref();
  }

  read(blob: Blob): Uint8Array | null {
    const before = Atomics.load(this.#count, 0);
    try {
      this.#port.postMessage(blob);
    } catch {
      return null; // the Blob is a file, which the thread cannot read
    }
    if (Atomics.wait(this.#count, 0, before, READ_MS_MAX) === 'timed-out') {
      thread = undefined; // Drop the thread: its late answer would be taken for the next one.
      return null;
    }
    const { bytes } = this.#threads.receiveMessageOnPort(this.#port)!.message;
    return bytes === undefined ? null : new Uint8Array(bytes);
  }
}
