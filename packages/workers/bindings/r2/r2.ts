// `r2()` describes an R2 bucket that becomes a member of `env`.

import { BINDING, type EnvBinding } from '@ctx-storage/core/contract';
import type { DurableObjectNamespace } from '@ctx-storage/core/object';
import { R2Bucket } from './r2-bucket.ts';
import { R2BucketObject } from './r2-bucket-object.ts';

export interface R2Options {
  /** The name of the data, which bindings with the same id share. @default the name of the binding */
  readonly id?: string;
}

/** An R2 bucket: `bindings: { FILES: r2() }`. */
export function r2({ id }: R2Options = {}): EnvBinding {
  return {
    [BINDING]: (name) => ({
      className: 'R2BucketObject',
      class: R2BucketObject,
      client: (objects) =>
        new R2Bucket(objects as DurableObjectNamespace<R2BucketObject>, id ?? name),
    }),
  };
}
