// Connects a writable and a readable stream that pass bytes unchanged. A write resolves when its bytes were read.
//
// Invariant: a chunk is sent with the content it had when `write` was called. If a number of bytes is expected, the
// reader gets exactly that number or an error. The write or close that breaks this rule resolves, as in workerd.

type Bytes = Uint8Array<ArrayBuffer>;

/** A write whose bytes the reader has not fully received. */
interface PendingWrite {
  /** The bytes that are still to be read. */
  unread: Bytes;
  readonly onRead: () => void;
  readonly onFailed: (reason: unknown) => void;
}

export class ByteChannel {
  readonly readable: ReadableStream<Bytes>;
  readonly writable: WritableStream;
  #readableController!: ReadableByteStreamController | ReadableStreamDefaultController<Bytes>;
  #writableController!: WritableStreamDefaultController;
  /** Copies of the chunks in the writable's queue, in the same order. */
  readonly #copies: Bytes[] = [];
  #pendingWrite: PendingWrite | undefined;
  /** Resumes a reader that waits for the next write. */
  #wakeReader = () => {};
  /** The number of bytes still expected; undefined if any number is accepted. */
  #expectedBytesLeft: number | undefined;

  constructor(highWaterMark = 1, expectedByteCount?: number) {
    this.#expectedBytesLeft = expectedByteCount;
    this.readable = this.#makeReadable();
    this.writable = new WritableStream(
      {
        start: (controller) => {
          this.#writableController = controller;
        },
        write: () => this.#write(this.#copies.shift()!),
        close: () => this.#close(),
      },
      // `size` copies the chunk, because no other callback of a sink runs synchronously inside `write`.
      { highWaterMark, size: (chunk) => this.#keepCopy(chunk) },
    );
    // The sink's `abort` callback would come too late: it waits for the pending write, which waits for a reader.
    const { signal } = this.#writableController;
    signal.addEventListener('abort', () => this.#fail(signal.reason));
  }

  #makeReadable(): ReadableStream<Bytes> {
    const source = {
      start: (
        controller: ReadableByteStreamController | ReadableStreamDefaultController<Bytes>,
      ) => {
        this.#readableController = controller;
      },
      pull: () => this.#pull(),
      cancel: (reason: unknown) => {
        this.#writableController.error(reason);
        this.#pendingWrite?.onFailed(reason);
        this.#pendingWrite = undefined;
      },
    };
    const strategy = { highWaterMark: 0 };
    try {
      return new ReadableStream({ ...source, type: 'bytes' }, strategy) as ReadableStream<Bytes>;
    } catch {
      return new ReadableStream<Bytes>(source, strategy); // WebKit may lack byte streams
    }
  }

  #keepCopy(chunk: unknown): number {
    try {
      const copy = copyOf(chunk);
      this.#copies.push(copy);
      return copy.byteLength;
    } catch (error) {
      this.#fail(error);
      throw error;
    }
  }

  #write(unread: Bytes): Promise<void> | undefined {
    if (unread.byteLength === 0) return undefined;
    return new Promise((onRead, onFailed) => {
      this.#pendingWrite = { unread, onRead, onFailed };
      this.#wakeReader();
    });
  }

  async #pull(): Promise<void> {
    if (this.#pendingWrite === undefined) {
      await new Promise<void>((wake) => {
        this.#wakeReader = wake;
      });
    }
    // Without a waiting write, the stream has ended.
    if (this.#pendingWrite !== undefined) this.#deliver(this.#pendingWrite);
  }

  #deliver(written: PendingWrite): void {
    const request =
      'byobRequest' in this.#readableController ? this.#readableController.byobRequest : null;
    const view = request?.view ?? null;
    const part = view === null ? written.unread : written.unread.subarray(0, view.byteLength);
    if (this.#expectedBytesLeft !== undefined && part.byteLength > this.#expectedBytesLeft) {
      const error = new TypeError('Attempt to write too many bytes through a FixedLengthStream.');
      this.#readableController.error(error);
      this.#writableController.error(error);
      this.#finishWrite(written);
      return;
    }
    if (this.#expectedBytesLeft !== undefined) this.#expectedBytesLeft -= part.byteLength;
    written.unread = written.unread.subarray(part.byteLength);
    if (written.unread.byteLength === 0) this.#finishWrite(written);
    if (view === null) this.#readableController.enqueue(part);
    else {
      new Uint8Array(view.buffer, view.byteOffset).set(part);
      request!.respond(part.byteLength);
    }
  }

  #finishWrite({ onRead }: PendingWrite): void {
    this.#pendingWrite = undefined;
    onRead();
  }

  #close(): void {
    if (this.#expectedBytesLeft !== undefined && this.#expectedBytesLeft > 0) {
      this.#fail(new TypeError('FixedLengthStream did not see all expected bytes before close().'));
      return;
    }
    this.#readableController.close();
    if ('byobRequest' in this.#readableController) this.#readableController.byobRequest?.respond(0);
    this.#wakeReader();
  }

  #fail(reason: unknown): void {
    this.#readableController.error(reason);
    this.#pendingWrite?.onFailed(reason);
    this.#pendingWrite = undefined;
    this.#wakeReader();
  }
}

/** Copies the bytes of a chunk. @throws TypeError for a chunk that is not bytes */
function copyOf(chunk: unknown): Bytes {
  if (typeof chunk === 'string') return new TextEncoder().encode(chunk);
  if (ArrayBuffer.isView(chunk)) {
    return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength).slice() as Bytes;
  }
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk.slice(0));
  throw new TypeError(
    'This TransformStream is being used as a byte stream, but received an object of ' +
      'non-ArrayBuffer/ArrayBufferView type on its writable side.',
  );
}
