// The results of `head`, `get` and `put`: an object of a bucket, with or without its body. The classes have the names
// that they have in workerd.

import { noteLength } from '@ctx-storage/core/contract';
import { hexToBytes } from '@noble/hashes/utils.js';
import { ALGORITHMS, type Algorithm, type Checksums as Hexes } from './digests.ts';
import {
  type HttpMetadata,
  parsedHttpMetadata,
  writeHttpHeaders,
  wrongParameter,
} from './r2-arguments.ts';
import type { BucketEntry } from './r2-bucket-object.ts';
import type { ByteRange } from './ranges.ts';

class Checksums implements Record<Algorithm, ArrayBuffer | undefined> {
  readonly md5: ArrayBuffer | undefined;
  readonly sha1: ArrayBuffer | undefined;
  readonly sha256: ArrayBuffer | undefined;
  readonly sha384: ArrayBuffer | undefined;
  readonly sha512: ArrayBuffer | undefined;
  readonly #hexes: Hexes;

  constructor(hexes: Hexes) {
    this.#hexes = hexes;
    for (const name of Object.keys(ALGORITHMS) as Algorithm[]) {
      const hex = hexes[name];
      if (hex !== undefined) this[name] = hexToBytes(hex).buffer as ArrayBuffer;
    }
  }

  toJSON(): Hexes {
    return { ...this.#hexes };
  }

  get [Symbol.toStringTag](): string {
    return 'Checksums';
  }
}

export class HeadResult {
  readonly key: string;
  readonly version: string;
  readonly size: number;
  readonly etag: string;
  readonly httpEtag: string;
  readonly checksums: Checksums;
  readonly uploaded: Date;
  readonly httpMetadata: HttpMetadata;
  readonly customMetadata: Record<string, string>;
  readonly range: (ByteRange & { readonly suffix: undefined }) | undefined;
  /** The storage class, which is always empty, as in miniflare. */
  readonly storageClass = '';
  readonly ssecKeyMd5 = undefined;

  constructor(stored: BucketEntry, range?: ByteRange) {
    const { key, version, size, etag, checksums, uploaded, httpMetadata, customMetadata } = stored;
    this.key = key;
    this.version = version;
    this.size = size;
    this.etag = etag;
    this.httpEtag = `"${etag}"`;
    this.checksums = new Checksums(checksums);
    this.uploaded = new Date(uploaded);
    this.httpMetadata = parsedHttpMetadata(httpMetadata);
    this.customMetadata = JSON.parse(customMetadata) as Record<string, string>;
    // workerd's range also has the key `suffix`, with undefined.
    this.range = range && { ...range, suffix: undefined };
  }

  writeHttpMetadata(headers: Headers): void {
    if (!(headers instanceof Headers)) {
      throw wrongParameter('HeadResult.writeHttpMetadata', 1, 'Headers');
    }
    writeHttpHeaders(this.httpMetadata, headers);
  }

  get [Symbol.toStringTag](): string {
    return 'HeadResult';
  }
}

export class GetResult extends HeadResult {
  readonly #response: Response;

  constructor(stored: BucketEntry, range: ByteRange, response: Response) {
    super(stored, range);
    this.#response = response;
  }

  get body(): ReadableStream {
    const body = this.#response.body!;
    noteLength(body, this.range!.length);
    return body;
  }

  get bodyUsed(): boolean {
    return this.#response.bodyUsed;
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return this.#unread.arrayBuffer();
  }

  async bytes(): Promise<Uint8Array> {
    return new Uint8Array(await this.#unread.arrayBuffer());
  }

  async text(): Promise<string> {
    return this.#unread.text();
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.#unread.text());
  }

  async blob(): Promise<Blob> {
    const bytes = await this.#unread.arrayBuffer();
    return new Blob([bytes], { type: this.httpMetadata.contentType ?? '' });
  }

  override get [Symbol.toStringTag](): string {
    return 'GetResult';
  }

  /** Returns the response if its body is unread. @throws TypeError if the body was used already */
  get #unread(): Response {
    if (!this.#response.bodyUsed) return this.#response;
    throw new TypeError(
      'Body has already been used. It can only be used once. Use tee() first if you need to read it twice.',
    );
  }
}

for (const [name, value] of Object.entries({ Checksums, HeadResult, GetResult })) {
  // The class keeps the name that programs see, even if a minifier renames it.
  Object.defineProperty(value, 'name', { value: name });
}
