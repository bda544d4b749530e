// How many bytes a stream will give, for streams that promise a number. A body made of such a stream
// travels with its length.

const lengths = new WeakMap<ReadableStream, number>();

/** Notes how many bytes the stream gives before it ends. */
export function noteLength(stream: ReadableStream, byteCount: number): void {
  lengths.set(stream, byteCount);
}

/** Undefined for a stream that ends at any time. */
export function notedLength(stream: ReadableStream): number | undefined {
  return lengths.get(stream);
}
