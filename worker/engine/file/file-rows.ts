// Files as rows of a database that has only asynchronous transactions: a row for each file with its size, and
// one for each chunk of its bytes.
//
// Implementations: idb-rows; the tests' own in packages/testing/worker and packages/testing/engine.

/** Bytes of a chunk: as many as a database page has, so that one changed page is one row. */
export const CHUNK_BYTES = 4096;

/** A file's address: the directory of an object, and a name in it. */
export interface FilePath {
  readonly key: string;
  readonly name: string;
}

/** A chunk's bytes without its last zeros; null if it has only zeros, which no row stands for. */
export type ChunkChange = readonly [index: number, bytes: Uint8Array<ArrayBuffer> | null];

/** A change of a file, in the order in which it is stored. */
export interface FileChange {
  readonly path: FilePath;
  /** Chunks from this index on are removed first; null: none are. */
  readonly cutAt: number | null;
  readonly chunks: readonly ChunkChange[];
  /** The file's new size; null: as it is stored. */
  readonly sizeBytes: number | null;
}

export interface FileRows {
  /** The directories that have files. */
  keys(): Promise<string[]>;
  /** The files of a directory, with their sizes. */
  files(key: string): Promise<ReadonlyMap<string, number>>;
  /** How many chunks of a file are stored. */
  chunkCount(path: FilePath): Promise<number>;
  /** Passes every stored chunk of a file, which nothing else writes meanwhile. */
  load(path: FilePath, take: (index: number, bytes: Uint8Array) => void): Promise<void>;
  /**
   * Stores all the changes or, when it rejects, none. They are durable when it resolves. Takes the bytes
   * during the call.
   *
   * @throws DISK_FULL, IO
   */
  save(changes: readonly FileChange[]): Promise<void>;
  /** Removes a file, or a whole directory; a missing one is not an error. */
  remove(key: string, name?: string): Promise<void>;
}
