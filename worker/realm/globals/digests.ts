// Adds workerd's digests to the web platform: MD5 in `crypto.subtle.digest`, and `crypto.DigestStream`.
//
// `crypto.subtle` needs all bytes at once. A DigestStream therefore collects its bytes until it is closed.

import { replaceGlobal, undoAll } from '../../../src/shared/calls/io/replace-global.ts';
import { refuseToClone } from '../../../src/shared/values/object-kind.ts';
import { lateCode } from '../../engine/storage/load-late.ts';

/** The members of the global scope that this file uses. `SubtleCrypto` is missing outside a secure context. */
type Scope = { readonly crypto: Crypto } & Partial<Pick<typeof globalThis, 'SubtleCrypto'>>;

/** Adds the digests to the scope; does nothing without `SubtleCrypto`. Call the result to remove them. */
export function installDigests({ crypto, SubtleCrypto }: Scope): () => void {
  if (SubtleCrypto === undefined) return () => {};
  const { digest: native } = SubtleCrypto.prototype;
  async function digest(this: SubtleCrypto, algorithm: AlgorithmIdentifier, data: BufferSource) {
    if (algorithmName(algorithm) !== 'MD5') return native.call(this, algorithm, data);
    const bytes = copyOf(data);
    const { md5 } = await lateCode.load('crypto.subtle.digest("MD5")');
    return (md5(bytes) as Uint8Array<ArrayBuffer>).buffer;
  }
  const undo = [
    replaceGlobal(SubtleCrypto.prototype, 'digest', digest),
    replaceGlobal(crypto, 'DigestStream', DigestStream),
  ];
  return () => undoAll(undo);
}

const ALGORITHMS: ReadonlySet<string> = new Set(['SHA-1', 'SHA-256', 'SHA-384', 'SHA-512', 'MD5']);

class DigestStream extends WritableStream {
  readonly #digest: Promise<ArrayBuffer>;
  #byteCount = 0;

  constructor(...[algorithm]: [AlgorithmIdentifier]) {
    const name = algorithmName(algorithm);
    if (!ALGORITHMS.has(name)) {
      throw new DOMException(
        'Unrecognized or unimplemented digest algorithm requested.',
        'NotSupportedError',
      );
    }
    const chunks: BlobPart[] = [];
    let resolve!: (digest: ArrayBuffer | Promise<ArrayBuffer>) => void;
    let reject!: (reason: unknown) => void;
    const digest = new Promise<ArrayBuffer>((...settle) => {
      [resolve, reject] = settle;
    });
    digest.catch(() => {}); // A program that never reads `digest` must get no unhandled rejection.
    super({
      write: (chunk) => {
        const bytes = typeof chunk === 'string' ? new TextEncoder().encode(chunk) : copyOf(chunk);
        this.#byteCount += bytes.byteLength;
        chunks.push(bytes);
      },
      close: async () => {
        const bytes = await new Blob(chunks).arrayBuffer();
        resolve(crypto.subtle.digest(name, bytes));
      },
      abort: reject,
    });
    this.#digest = digest;
  }

  get digest(): Promise<ArrayBuffer> {
    return this.#digest;
  }

  get bytesWritten(): bigint {
    return BigInt(this.#byteCount);
  }

  get [Symbol.toStringTag](): string {
    return 'DigestStream';
  }
}

refuseToClone(DigestStream);

function algorithmName(algorithm: AlgorithmIdentifier): string {
  return String(typeof algorithm === 'string' ? algorithm : algorithm?.name).toUpperCase();
}

/** Copies the bytes of a chunk. @throws TypeError */
function copyOf(data: unknown): Uint8Array<ArrayBuffer> {
  if (ArrayBuffer.isView(data)) {
    return new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice();
  }
  if (data instanceof ArrayBuffer) return new Uint8Array(data.slice(0));
  throw new TypeError(
    'DigestStream is a byte stream but received an object of non-ArrayBuffer/ArrayBufferView/string type on its ' +
      'writable side.',
  );
}
