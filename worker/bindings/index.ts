// `ctx-storage/bindings`: members of `env` that keep data, each in objects of a class of its own.
//
// Invariant: nothing of a binding is loaded unless an app names it.

export type { EnvBinding } from '../../src/shared/contract/env-binding.ts';
export { type D1Options, d1 } from './d1/d1.ts';
export { type KvOptions, kv } from './kv/kv.ts';
