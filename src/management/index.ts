// `ctx-storage/management`: an emulated provider of the management interface at any date, over stateful
// objects. What needs Node is in entries of its own.

export { installFetch } from './adapters/install-fetch.ts';
export { routeManagement } from './adapters/playwright-route.ts';
export { handleFetchEvent } from './adapters/service-worker.ts';
export { managementWorker } from './adapters/worker-entry.ts';
export {
  createManagementApi,
  type ManagementApi,
  type ManagementOptions,
  type Transport,
} from './api.ts';
export { MovableClock } from './movable-clock.ts';
export { ManagementObject } from './objects/management-object.ts';
export type { ManagementNamespace } from './objects/objects.ts';
