// The names of `worker/objects` that packages may import: the host of objects, their classes, catalog and turns.

export { type CatalogEntry, MemoryCatalog } from '../objects/catalog/catalog.ts';
export type { SystemTime } from '../objects/clock/clock.ts';
export type { GivenBindings } from '../objects/entries/env-bindings.ts';
export { ExecutionContext } from '../objects/entries/execution-context.ts';
export {
  BatchDecisions,
  MessageBatch,
  ScheduledController,
} from '../objects/entries/handler-events.ts';
export {
  FollowedError,
  type FollowedObject,
  type FollowedResult,
  type Followers,
  queuedAs,
} from '../objects/host/followers.ts';
export type { ObjectHost, StartFollowing } from '../objects/host/object-host.ts';
export type { HostEnvironment } from '../objects/instance/environment.ts';
export {
  ClassRegistry,
  type ClassTable,
  type UserClass,
} from '../objects/instance/object-class.ts';
export type { ObjectInstance } from '../objects/instance/object-instance.ts';
export type { Turns } from '../objects/io/turns.ts';
