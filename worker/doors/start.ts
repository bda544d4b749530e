// From classes to a running host, for packages.

export { type RunningHost, startHost } from '../start/boot/start-host.ts';
export {
  abortAllDurableObjects,
  type EvictionOptions,
  evictAllDurableObjects,
  evictDurableObject,
  hostOf,
  listDurableObjectIds,
  reset,
  runDurableObjectAlarm,
  runInDurableObject,
} from '../start/entries/object-tools.ts';
export { type InProcessOptions, objectsOn } from '../start/entries/objects-on.ts';
export { type PageSocket, type SocketEvents, SocketPages } from '../start/entries/socket-pages.ts';
