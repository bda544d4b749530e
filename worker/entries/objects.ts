// `ctx-storage/worker`: what a worker that runs classes imports, and there a drop-in replacement for
// `cloudflare:workers`.
//
// Only names: a file of classes takes the base classes from here, and nothing of the host comes along.

export type { Build } from '../../src/contract/deployment.ts';
export type { CompareBuilds } from '../boot/deployment-order.ts';
export type { ClassOptions, ClassTable, UserClass } from '../instance/object-class.ts';
export * from '../library/library.ts';
export type { QueryLimits } from '../sql/query-limits.ts';
export { type ServeOptions, serve } from './serve.ts';
