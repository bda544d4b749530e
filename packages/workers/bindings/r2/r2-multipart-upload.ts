// An upload in parts, as code in the worker has it.
//
// Whether there is such an upload, the object tells, once a method is called.

import type { DurableObjectStub } from '@ctx-storage/core/object';
import { cancelValue, checkedValue } from './put-value.ts';
import { checkObjectKey, partNumberOf, wrongParameter } from './r2-arguments.ts';
import type { R2BucketObject } from './r2-bucket-object.ts';
import { HeadResult } from './r2-object.ts';
import type { PublishedPart } from './uploads.ts';

/** A new stub each time: a stub ends with the instance that it has reached. */
export type ToObject = () => DurableObjectStub<R2BucketObject>;

export class R2MultipartUpload {
  readonly uploadId: string;
  readonly key: string;
  readonly #stub: ToObject;

  constructor(stub: ToObject, key: string, uploadId: string) {
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

// The name that programs see, even if a minifier changed it.
Object.defineProperty(R2MultipartUpload, 'name', { value: 'R2MultipartUpload' });
