// The names of `worker/realm` that packages may import: globals, base classes and `env` of object code.

export { ByteChannel } from '../realm/globals/byte-channel.ts';
export { installDate } from '../realm/globals/timers.ts';
export { DurableObject, WorkerEntrypoint } from '../realm/library/base-classes.ts';
export { latestProvided } from '../realm/library/provided.ts';
export { appOf, provideEnv, provideMore } from '../realm/library/provided-env.ts';
export { env, exports } from '../realm/library/running-object.ts';
export { wholeRealm } from '../realm/modules/whole-realm.ts';
export { browserLoader } from '../realm/source/load-source.ts';
export { runSource, type SourceScope } from '../realm/source/run-source.ts';
