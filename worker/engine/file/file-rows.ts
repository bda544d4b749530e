// The interface of files that are stored as rows of a database with asynchronous transactions: one row for each file's
// size, and one for each chunk of its bytes.
//
// Implementations: idb-rows; the tests' own in packages/testing/worker and packages/testing/engine.

/** Size of a chunk in bytes; equal to that of a database page, so that one changed page is one row. */
export const CHUNK_BYTES = 4096;

/** A file's address: the directory of an object, and a name in it. */
export interface FilePath {
  readonly key: string;
  readonly name: string;
}

/** A changed chunk without its trailing zeros; null if it has only zeros, for which no row is stored. */
export type ChunkChange = readonly [index: number, bytes: Uint8Array<ArrayBuffer> | null];

/** A change of a file; its parts are stored in this order. */
export interface FileChange {
  readonly path: FilePath;
  /** Index from which on chunks are removed first; null if none are. */
  readonly cutAt: number | null;
  readonly chunks: readonly ChunkChange[];
  /** The file's new size; null if it does not change. */
  readonly sizeBytes: number | null;
}

export interface FileRows {
  /** Lists the directories with files. */
  keys(): Promise<string[]>;
  /** Lists the files of a directory with their sizes. */
  files(key: string): Promise<ReadonlyMap<string, number>>;
  /** Counts the stored chunks of a file. */
  chunkCount(path: FilePath): Promise<number>;
  /** Passes every stored chunk of a file to `take`; no other code writes the file meanwhile. */
  load(path: FilePath, take: (index: number, bytes: Uint8Array) => void): Promise<void>;
  /**
   * Stores all the changes or, if it rejects, none. They are durable when it resolves. The bytes are read during the
   * call, so they may change afterwards.
   *
   * @throws DISK_FULL, IO
   */
  save(changes: readonly FileChange[]): Promise<void>;
  /** Removes a file, or a whole directory; a missing one is not an error. */
  remove(key: string, name?: string): Promise<void>;
}
