// `kv()`: a KV namespace, as `env` has it.

import { BINDING, type EnvBinding } from '@ctx-storage/core/contract';
import type { DurableObjectNamespace } from '@ctx-storage/core/object';
import { KvNamespace } from './kv-namespace.ts';
import { KvObject } from './kv-object.ts';

export interface KvOptions {
  /** Names its data: bindings with the same id share it. @default the name of the binding */
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
