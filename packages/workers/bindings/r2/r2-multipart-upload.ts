// The handle of a multipart upload that the worker's code uses. It does not know whether the upload exists: the
// bucket's object checks this in each call.

import type { DurableObjectStub } from '@ctx-storage/core/object';
import { cancelValue, checkedValue } from './put-value.ts';
import { checkObjectKey, partNumberOf, wrongParameter } from './r2-arguments.ts';
import type { R2BucketObject } from './r2-bucket-object.ts';
import { HeadResult } from './r2-object.ts';
import type { PublishedPart } from './uploads.ts';

/** Returns a new stub for each call, because a stub fails for good once the instance that it reached has ended. */
export type StubFactory = () => DurableObjectStub<R2BucketObject>;

export class R2MultipartUpload {
  readonly uploadId: string;
  readonly key: string;
  readonly #stub: StubFactory;

  constructor(stub: StubFactory, key: string, uploadId: string) {
    this.#stub = stub;
    this.key = key;
    this.uploadId = uploadId;
  }

  async uploadPart(...given: [partNumber?: unknown, value?: unknown]): Promise<PublishedPart> {
    const [number, value] = given;
    try {
      const content = checkedValue('uploadPart', 'R2MultipartUpload.uploadPart', value);
      const partNumber = partNumberOf(number);
      checkObjectKey('uploadPart', this.key);
      const { key, uploadId } = this;
      const etag = await this.#stub().uploadPart(key, uploadId, partNumber, content);
      return { partNumber, etag };
    } catch (error) {
      cancelValue(value);
      throw error;
    }
  }

  async complete(...given: [parts?: unknown]): Promise<HeadResult> {
    const [parts] = given;
    if (!Array.isArray(parts) || !parts.every(isPart)) {
      throw wrongParameter('R2MultipartUpload.complete', 1, 'Array');
    }
    const checked = parts.map(({ partNumber, etag }) => ({
      partNumber: partNumberOf(partNumber),
      etag: String(etag),
    }));
    const key = checkObjectKey('completeMultipartUpload', this.key);
    return new HeadResult(await this.#stub().completeUpload(key, this.uploadId, checked));
  }

  async abort(): Promise<void> {
    const key = checkObjectKey('abortMultipartUpload', this.key);
    await this.#stub().abortUpload(key, this.uploadId);
  }

  get [Symbol.toStringTag](): string {
    return 'R2MultipartUpload';
  }
}

function isPart(given: unknown): given is { partNumber: unknown; etag: unknown } {
  return typeof given === 'object' && given !== null && 'partNumber' in given && 'etag' in given;
}

// The class keeps the name that programs see, even if a minifier renames it.
Object.defineProperty(R2MultipartUpload, 'name', { value: 'R2MultipartUpload' });
