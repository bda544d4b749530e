// `kv()`: a KV namespace, as `env` has it.

import { BINDING, type EnvBinding } from '../../../../src/shared/contract/env-binding.ts';
import type { DurableObjectNamespace } from '../../../../src/shared/contract/object.ts';
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
