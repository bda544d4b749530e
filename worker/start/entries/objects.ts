// The entry `ctx-storage/worker`, for workers that run classes. It is a drop-in replacement for `cloudflare:workers`.
//
// A bundle of a file that only defines classes contains nothing of the host.

import './answer-starts.ts';

export type { Build } from '../../../src/shared/contract/deployment.ts';
export type { HistoryLimits } from '../../../src/shared/contract/history-limits.ts';
export type { QueryLimits } from '../../engine/sql/query-limits.ts';
export type { ClassOptions, ClassTable, UserClass } from '../../objects/instance/object-class.ts';
export * from '../../realm/library/library.ts';
export type { CompareBuilds } from '../boot/deployment-order.ts';
export { type ServeOptions, serve } from './serve.ts';
