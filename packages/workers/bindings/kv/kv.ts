// `kv()` describes a KV namespace that becomes a member of `env`.

import { BINDING, type EnvBinding } from '@ctx-storage/core/contract';
import type { DurableObjectNamespace } from '@ctx-storage/core/object';
import { KvNamespace } from './kv-namespace.ts';
import { KvObject } from './kv-object.ts';

export interface KvOptions {
  /** The name of the data, which bindings with the same id share. @default the name of the binding */
  readonly id?: string;
}

/** A KV namespace: `bindings: { CACHE: kv() }`. */
export function kv({ id }: KvOptions = {}): EnvBinding {
  return {
    [BINDING]: (name) => ({
      className: 'KvObject',
      class: KvObject,
      client: (objects) => new KvNamespace(objects as DurableObjectNamespace<KvObject>, id ?? name),
    }),
  };
}
