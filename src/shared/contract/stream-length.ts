// How many bytes a stream will give, for streams that promise a number. A body made of such a stream
// travels with its length.
//
// Noted on the stream, because bindings are bundled apart from the host.

const LENGTH: unique symbol = Symbol.for('ctx-storage.stream-length') as never;

/** Notes how many bytes the stream gives before it ends. */
export function noteLength(stream: ReadableStream, byteCount: number): void {
  Object.defineProperty(stream, LENGTH, { value: byteCount, configurable: true });
}

/** Undefined for a stream that ends at any time. */
export function notedLength(stream: ReadableStream): number | undefined {
  return (stream as { readonly [LENGTH]?: number })[LENGTH];
}
