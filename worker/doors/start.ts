// The names of `worker/start` that packages may import: functions that make a running host of classes.

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
