// Reads the rows or entries of a bulk call from their source, in slices of a few milliseconds. Other tasks of the page run
// between the slices.
//
// Invariant: a source that ends within the first slice is read synchronously, so that the call keeps its order among the
// calls of its turn. If reading stops early, `return` of the iterator is called, as by a loop, but not awaited: neither a
// pending `next()` nor a `return()` that never settles delays the end of the call. No assertion keeps this: the
// iterator is the user's.

import { untilAborted } from '../../shared/calls/stubs/with-signal.ts';
import { convertOptions } from '../../shared/contract/arguments.ts';
import { storageError } from '../../shared/contract/errors.ts';
import type { Packer } from '../../shared/wire/bulk.ts';

export interface Between {
  /** Aborts when the call is cancelled, or its handle closed. */
  readonly ending: AbortSignal;
  /** Resolves in a later task of the page. */
  readonly nextTask: () => Promise<void>;
}

type Items = Iterator<unknown, unknown, undefined>;
type AsyncItems = AsyncIterator<unknown, unknown, undefined>;

/** Reads the whole source into chunks. @throws INVALID_ARGUMENT, errors of the source, errors of the packer */
export function takeAll<Chunk>(
  operation: string,
  source: unknown,
  packer: Packer<unknown, Chunk>,
  options: unknown,
  between: Between,
): Chunk[] | Promise<Chunk[]> {
  const { onProgress } = convertOptions(operation, options);
  const chunks: Chunk[] = [];
  const slice = () => {
    const chunk = packer.take();
    if (chunk !== undefined) chunks.push(chunk);
    if (typeof onProgress === 'function') onProgress(packer.count);
    between.ending.throwIfAborted();
  };
  const { sync, async } = iteratorsOf(operation, source);
  if (async !== undefined) {
    return untilAborted(takeLater(async, packer, slice, between, chunks), between.ending);
  }
  if (!takeSlice(sync, packer, slice)) return takeRest(sync, packer, slice, between, chunks);
  return chunks;
}

/** Reads one slice. Returns true at the end of the source. */
function takeSlice(items: Items, packer: Packer<unknown, unknown>, slice: () => void): boolean {
  for (;;) {
    const { done, value } = items.next();
    if (done) {
      slice();
      return true;
    }
    try {
      packer.add(value);
      if (!packer.isFull) continue;
      slice();
      return false;
    } catch (error) {
      returnIterator(items);
      throw error;
    }
  }
}

async function takeRest<Chunk>(
  items: Items,
  packer: Packer<unknown, Chunk>,
  slice: () => void,
  { ending, nextTask }: Between,
  chunks: Chunk[],
): Promise<Chunk[]> {
  do {
    await nextTask();
    if (ending.aborted) {
      returnIterator(items);
      throw ending.reason;
    }
  } while (!takeSlice(items, packer, slice));
  return chunks;
}

async function takeLater<Chunk>(
  items: AsyncItems,
  packer: Packer<unknown, Chunk>,
  slice: () => void,
  { ending, nextTask }: Between,
  chunks: Chunk[],
): Promise<Chunk[]> {
  const leaveNow = () => returnIterator(items);
  if (ending.aborted) leaveNow();
  ending.addEventListener('abort', leaveNow, { once: true });
  try {
    for (;;) {
      ending.throwIfAborted();
      const { done, value } = await items.next();
      if (done) break;
      try {
        packer.add(value);
        if (!packer.isFull) continue;
        slice();
        await nextTask();
      } catch (error) {
        if (!ending.aborted) leaveNow();
        throw error;
      }
    }
    slice();
    return chunks;
  } finally {
    ending.removeEventListener('abort', leaveNow);
  }
}

/** Calls `return` of the iterator. Its error is dropped, as by a loop that throws, because it would hide the first error. */
function returnIterator(items: Items | AsyncItems): void {
  const told = async () => void (await items.return?.());
  told().catch(() => {});
}

function iteratorsOf(
  operation: string,
  source: unknown,
): { readonly sync: Items; readonly async?: AsyncItems } {
  if (typeof source === 'object' && source !== null) {
    const { [Symbol.asyncIterator]: later, [Symbol.iterator]: now } = source as Partial<
      AsyncIterable<unknown> & Iterable<unknown>
    >;
    const none = [][Symbol.iterator]();
    if (source instanceof ReadableStream) return { sync: none, async: readItems(source) };
    if (later !== undefined) return { sync: none, async: later.call(source) as AsyncItems };
    if (now !== undefined) return { sync: now.call(source) as Items };
  }
  throw storageError(
    'INVALID_ARGUMENT',
    `${operation}: takes an array, another iterable or an async iterable.`,
  );
}

/** Iterates over a stream. The stream's own iterator would cancel the stream only after a pending read. */
function readItems(stream: ReadableStream<unknown>): AsyncItems {
  const reader = stream.getReader();
  return {
    next: () => reader.read() as Promise<IteratorResult<unknown, unknown>>,
    return: (value) => reader.cancel().then(() => ({ done: true, value })),
  };
}

/** Returns an iterable of entries for each argument that `putMany` accepts: pairs, a Map, or an object. */
export function entrySource(source: unknown): unknown {
  if (typeof source !== 'object' || source === null) return source;
  const isIterable = Symbol.iterator in source || Symbol.asyncIterator in source;
  return isIterable ? source : Object.entries(source);
}
