// Takes the rows or entries of a bulk call from their source, in slices of a few milliseconds with a task of the page
// between them.
//
// Invariant: a source that ends within the first slice is taken during the call, so that the call keeps its place
// among those of its turn. A source that is left early is told so (`return`), as by a loop.

import { convertOptions } from '../../shared/contract/arguments.ts';
import { storageError } from '../../shared/contract/errors.ts';
import type { Packer } from '../../shared/wire/bulk.ts';

export interface Between {
  /** Throws when the call is not wanted any more. */
  readonly check: () => void;
  /** Resolves in a later task of the page. */
  readonly nextTask: () => Promise<void>;
}

type Items = Iterator<unknown, unknown, undefined>;
type AsyncItems = AsyncIterator<unknown, unknown, undefined>;

/** The chunks of the source. @throws INVALID_ARGUMENT, errors of the source, errors of the packer */
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
    between.check();
  };
  const { sync, async } = iteratorsOf(operation, source);
  if (async !== undefined) return takeLater(async, packer, slice, between, chunks);
  if (!takeSlice(sync, packer, slice)) return takeRest(sync, packer, slice, between, chunks);
  return chunks;
}

/** True at the end of the source. */
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
      items.return?.();
      throw error;
    }
  }
}

async function takeRest<Chunk>(
  items: Items,
  packer: Packer<unknown, Chunk>,
  slice: () => void,
  { check, nextTask }: Between,
  chunks: Chunk[],
): Promise<Chunk[]> {
  do {
    await nextTask();
    try {
      check();
    } catch (error) {
      items.return?.();
      throw error;
    }
  } while (!takeSlice(items, packer, slice));
  return chunks;
}

async function takeLater<Chunk>(
  items: AsyncItems,
  packer: Packer<unknown, Chunk>,
  slice: () => void,
  { check, nextTask }: Between,
  chunks: Chunk[],
): Promise<Chunk[]> {
  for (;;) {
    const { done, value } = await items.next();
    if (done) {
      slice();
      return chunks;
    }
    try {
      check();
      packer.add(value);
      if (!packer.isFull) continue;
      slice();
      await nextTask();
      check();
    } catch (error) {
      await items.return?.();
      throw error;
    }
  }
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
    if (later !== undefined) return { sync: none, async: later.call(source) as AsyncItems };
    if (now !== undefined) return { sync: now.call(source) as Items };
  }
  throw storageError(
    'INVALID_ARGUMENT',
    `${operation}: takes an array, another iterable or an async iterable.`,
  );
}

/** Entries as `putMany` takes them: pairs, a Map, or an object. */
export function entrySource(source: unknown): unknown {
  if (typeof source !== 'object' || source === null) return source;
  const isIterable = Symbol.iterator in source || Symbol.asyncIterator in source;
  return isIterable ? source : Object.entries(source);
}
