// The entry `ctx-storage/bindings`: members of `env` that keep data. Each stores it in objects of a class of its own.
//
// Invariant: the code of a binding is not loaded unless the app imports it.

export type { EnvBinding } from '@ctx-storage/core/contract';
export { cronTriggers } from './cron/cron-triggers.ts';
export { type D1Options, d1 } from './d1/d1.ts';
export { type KvOptions, kv } from './kv/kv.ts';
export { type QueueConsumer, type QueueOptions, queue } from './queue/queue.ts';
export { type R2Options, r2 } from './r2/r2.ts';
export { type RateLimitOptions, rateLimit } from './rate-limit/rate-limit.ts';
