// `ctx-storage/worker`: the imports of a worker that runs classes; a drop-in replacement for
// `cloudflare:workers`.
//
// A file of classes takes the base classes from here, and nothing of the host comes along.

import './answer-starts.ts';

export type { Build } from '../../../src/shared/contract/deployment.ts';
export type { HistoryLimits } from '../../../src/shared/contract/history-limits.ts';
export type { QueryLimits } from '../../engine/sql/query-limits.ts';
export type { ClassOptions, ClassTable, UserClass } from '../../objects/instance/object-class.ts';
export * from '../../realm/library/library.ts';
export type { CompareBuilds } from '../boot/deployment-order.ts';
export { type ServeOptions, serve } from './serve.ts';
