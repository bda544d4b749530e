// Exports the public types of objects that packages may import: ids, namespaces, stubs, management and services.

export type {
  AutoResponse,
  DurableObjectId,
  DurableObjectNamespace,
  DurableObjectState,
  DurableObjectStub,
  ObjectResponse,
  ObjectWebSocket,
} from '../shared/contract/object.ts';
export {
  addressKey,
  branchAddress,
  DurableObjectId as ObjectId,
  idOfStorage,
  type ObjectAddress,
  ObjectIdFactory,
} from '../shared/contract/object-id.ts';
export type {
  NamespacesOf,
  ObjectSummary,
  Objects,
  ObjectsClock,
} from '../shared/contract/object-management.ts';
export { mustBeCallable } from '../shared/contract/rpc-class.ts';
export type {
  EntryHandle,
  QueueMessage,
  QueueMetrics,
  QueueResult,
  ScheduledEvent,
} from '../shared/contract/service.ts';
