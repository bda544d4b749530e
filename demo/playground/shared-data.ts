// Packs the stored objects of shared code, with their history, into bytes for a link or a file, and unpacks them.
//
// The bytes are the length of a JSON header with names and sizes, the header, and the contents of the files. A log ends
// with zeros that were written in advance; of these only the number is packed.
//
// Invariant: the bytes of a stranger are read in bounded time and memory. Names and sizes are checked here; only the
// sandbox interprets the contents.

import { joined, pack, unpack } from './packed.ts';

/** The files of one object by name: `main`, `checkpoint`, `branches`, and the segments of the log. */
export type ObjectFiles = ReadonlyMap<string, Uint8Array<ArrayBuffer>>;

export interface SharedObject {
  /** The name of the object's folder: its class, its id, and what it is a branch or a facet of. */
  readonly key: string;
  readonly className: string;
  /** The name of the object; null if it was never called by a name. */
  readonly name: string | null;
  readonly files: ObjectFiles;
}

export interface SharedData {
  /**
   * The time at which the clock of the objects must stand still because an alarm is set; null if it follows the system.
   */
  readonly clockMs: number | null;
  readonly objects: readonly SharedObject[];
}

/** How many bytes all files together may have. */
export const FILES_BYTES_MAX = 16 * 1024 * 1024;
const OBJECTS_MAX = 200;
const FILES_MAX = 64;
const NAME_CHARS_MAX = 1024;
const HEADER_BYTES_MAX = 512 * 1024;
const LENGTH_BYTES = 4;

const KEY = /^([\p{ID_Start}$_][\p{ID_Continue}$]{0,199})\.[0-9a-f]{64}(?:[.~][\w-]{1,64}){0,8}$/u;
const FILE = /^(?:main|checkpoint|branches|log-[0-9a-f]{8})$/;

/** Returns the class in the name of an object's folder; null if the folder is another one. */
export const classOfKey = (key: string): string | null => KEY.exec(key)?.[1] ?? null;

export const isFileName = (name: string): boolean => FILE.test(name);

/** Packs the objects. @throws Error if they are more than can be shared */
export async function packData(data: SharedData): Promise<Uint8Array<ArrayBuffer>> {
  const sizes = data.objects.flatMap(({ files }) =>
    [...files.values()].map(({ length }) => length),
  );
  const sizeBytes = sizes.reduce((sum, size) => sum + size, 0);
  const tooMuch = excess(sizeBytes, data.objects.length);
  if (tooMuch !== null) throw new Error(`Shared data may have ${tooMuch}.`);
  const contents: Uint8Array[] = [];
  const objects = data.objects.map(({ key, name, files }) => ({
    key,
    name,
    files: [...files].map(([fileName, bytes]) => {
      const kept = bytes.subarray(0, bytes.findLastIndex((byte) => byte !== 0) + 1);
      contents.push(kept);
      return [fileName, bytes.length, kept.length];
    }),
  }));
  const header = new TextEncoder().encode(JSON.stringify({ clockMs: data.clockMs, objects }));
  const length = new Uint8Array(LENGTH_BYTES);
  new DataView(length.buffer).setUint32(0, header.length);
  return pack(joined([length, header, ...contents]));
}

/** Unpacks the objects. @throws Error that names the problem with the bytes */
export async function unpackData(packed: Uint8Array<ArrayBuffer>): Promise<SharedData> {
  const bytesMax = LENGTH_BYTES + HEADER_BYTES_MAX + FILES_BYTES_MAX;
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = await unpack(packed, bytesMax);
  } catch (cause) {
    throw damaged(cause);
  }
  if (bytes.length > bytesMax) throw refused(excess(FILES_BYTES_MAX + 1, 0)!);
  if (bytes.length < LENGTH_BYTES) throw damaged();
  const headerLength = new DataView(bytes.buffer).getUint32(0);
  const from = LENGTH_BYTES + headerLength;
  if (headerLength > HEADER_BYTES_MAX || from > bytes.length) throw damaged();
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder().decode(bytes.subarray(LENGTH_BYTES, from)));
  } catch (cause) {
    throw damaged(cause);
  }
  return new Contents(bytes.subarray(from)).read(header);
}

/** Reads the contents in the order of the header. */
class Contents {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  #at = 0;
  #sizeBytes = 0;

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.#bytes = bytes;
  }

  read(header: unknown): SharedData {
    const { clockMs, objects } = fieldsOf(header);
    const isTime = typeof clockMs === 'number' && !Number.isNaN(new Date(clockMs).getTime());
    if (clockMs !== null && !isTime) throw damaged();
    if (!Array.isArray(objects)) throw damaged();
    const tooMuch = excess(0, objects.length);
    if (tooMuch !== null) throw refused(tooMuch);
    const read = Array.from(objects as unknown[], (object) => this.#object(object));
    if (new Set(read.map(({ key }) => key)).size < read.length) throw damaged();
    if (this.#at < this.#bytes.length) throw damaged();
    return { clockMs: isTime ? clockMs : null, objects: read };
  }

  #object(value: unknown): SharedObject {
    const { key, name, files } = fieldsOf(value);
    const className = typeof key === 'string' ? classOfKey(key) : null;
    const isName = name === null || (typeof name === 'string' && name.length <= NAME_CHARS_MAX);
    if (className === null || !isName) throw damaged();
    if (!Array.isArray(files) || files.length > FILES_MAX) throw damaged();
    const read = new Map(Array.from(files as unknown[], (file) => this.#file(file)));
    if (read.size < files.length) throw damaged();
    return { key: key as string, className, name: name as string | null, files: read };
  }

  #file(value: unknown): [string, Uint8Array<ArrayBuffer>] {
    if (!Array.isArray(value)) throw damaged();
    const [name, sizeBytes, keptBytes] = value as unknown[];
    if (typeof name !== 'string' || !isFileName(name)) throw damaged();
    if (!isCount(sizeBytes) || !isCount(keptBytes) || keptBytes > sizeBytes) throw damaged();
    this.#sizeBytes += sizeBytes;
    const tooMuch = excess(this.#sizeBytes, 0);
    if (tooMuch !== null) throw refused(tooMuch);
    if (this.#at + keptBytes > this.#bytes.length) throw damaged();
    const content = new Uint8Array(sizeBytes);
    content.set(this.#bytes.subarray(this.#at, this.#at + keptBytes));
    this.#at += keptBytes;
    return [name, content];
  }
}

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0;

/** Returns a description of the limit that the data exceeds, or null. */
function excess(sizeBytes: number, objectCount: number): string | null {
  if (sizeBytes > FILES_BYTES_MAX) return `at most ${FILES_BYTES_MAX / 1024 ** 2} MiB of files`;
  return objectCount > OBJECTS_MAX ? `at most ${OBJECTS_MAX} objects` : null;
}

function fieldsOf(value: unknown): Partial<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw damaged();
  return value as Record<string, unknown>;
}

const refused = (limit: string) => new Error(`The link is refused: its data may have ${limit}.`);

export const damaged = (cause?: unknown) =>
  new Error('The link is damaged: the data in it cannot be read. Ask for the whole link again.', {
    cause,
  });
