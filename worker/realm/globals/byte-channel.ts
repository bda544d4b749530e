// The two ends of a stream that passes bytes unchanged. A write resolves when its bytes were read.
//
// Invariant: a chunk is sent as it was when `write` was called. With an expected number of bytes, the
// reader gets exactly so many, or an error; as in workerd, the call that breaks it resolves.

type Bytes = Uint8Array<ArrayBuffer>;

/** A write that is under way. */
interface Written {
  /** The bytes that the reader has not received yet. */
  rest: Bytes;
  readonly onRead: () => void;
  readonly onFailed: (reason: unknown) => void;
}

export class ByteChannel {
  readonly readable: ReadableStream<Bytes>;
  readonly writable: WritableStream;
  #reading!: ReadableByteStreamController | ReadableStreamDefaultController<Bytes>;
  #writing!: WritableStreamDefaultController;
  /** Copies of the chunks that the writable has queued, in its order. */
  readonly #copies: Bytes[] = [];
  #written: Written | undefined;
  /** Ends the wait of a reader that asks while nothing is written. */
  #wake = () => {};
  /** How many bytes the reader still has to get; undefined when any number will do. */
  #missing: number | undefined;

  constructor(highWaterMark = 1, expectedByteCount?: number) {
    this.#missing = expectedByteCount;
    this.readable = this.#makeReadable();
    this.writable = new WritableStream(
      {
        start: (controller) => {
          this.#writing = controller;
        },
        write: () => this.#write(this.#copies.shift()!),
        close: () => this.#close(),
      },
      // `size` is the only code of the sink that runs inside `write`: it takes the copy.
      { highWaterMark, size: (chunk) => this.#keepCopy(chunk) },
    );
    // The sink's own `abort` waits for the write that is under way, which waits for a reader.
    const { signal } = this.#writing;
    signal.addEventListener('abort', () => this.#fail(signal.reason));
  }

  #makeReadable(): ReadableStream<Bytes> {
    const source = {
      start: (
        controller: ReadableByteStreamController | ReadableStreamDefaultController<Bytes>,
      ) => {
        this.#reading = controller;
      },
      pull: () => this.#pull(),
      cancel: (reason: unknown) => {
        this.#writing.error(reason);
        this.#written?.onFailed(reason);
        this.#written = undefined;
      },
    };
    const strategy = { highWaterMark: 0 };
    try {
      return new ReadableStream({ ...source, type: 'bytes' }, strategy) as ReadableStream<Bytes>;
    } catch {
      return new ReadableStream<Bytes>(source, strategy); // WebKit may have no byte streams
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

  #write(rest: Bytes): Promise<void> | undefined {
    if (rest.byteLength === 0) return undefined;
    return new Promise((onRead, onFailed) => {
      this.#written = { rest, onRead, onFailed };
      this.#wake();
    });
  }

  async #pull(): Promise<void> {
    if (this.#written === undefined) {
      await new Promise<void>((wake) => {
        this.#wake = wake;
      });
    }
    if (this.#written !== undefined) this.#hand(this.#written); // else the stream has ended
  }

  #hand(written: Written): void {
    const request = 'byobRequest' in this.#reading ? this.#reading.byobRequest : null;
    const view = request?.view ?? null;
    const part = view === null ? written.rest : written.rest.subarray(0, view.byteLength);
    if (this.#missing !== undefined && part.byteLength > this.#missing) {
      const error = new TypeError('Attempt to write too many bytes through a FixedLengthStream.');
      this.#reading.error(error);
      this.#writing.error(error);
      this.#taken(written);
      return;
    }
    if (this.#missing !== undefined) this.#missing -= part.byteLength;
    written.rest = written.rest.subarray(part.byteLength);
    if (written.rest.byteLength === 0) this.#taken(written);
    if (view === null) this.#reading.enqueue(part);
    else {
      new Uint8Array(view.buffer, view.byteOffset).set(part);
      request!.respond(part.byteLength);
    }
  }

  #taken({ onRead }: Written): void {
    this.#written = undefined;
    onRead();
  }

  #close(): void {
    if (this.#missing !== undefined && this.#missing > 0) {
      this.#fail(new TypeError('FixedLengthStream did not see all expected bytes before close().'));
      return;
    }
    this.#reading.close();
    if ('byobRequest' in this.#reading) this.#reading.byobRequest?.respond(0);
    this.#wake();
  }

  #fail(reason: unknown): void {
    this.#reading.error(reason);
    this.#written?.onFailed(reason);
    this.#written = undefined;
    this.#wake();
  }
}

/** @throws TypeError */
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
