// The globals that object code sees: those of the platform that behave otherwise inside an object (timers, Date, fetch,
// Request, Response, WebSocket, scheduler), and workerd's further ones.

import { installMessages } from '../../../src/shared/calls/http/kept-messages.ts';
import {
  installSocketClasses,
  installSocketResponse,
} from '../../../src/shared/calls/sockets/install.ts';

import { installArguments } from './arguments-of-workerd.ts';
import { installBodyChunks } from './body-chunks.ts';
import { installBodyLengths } from './body-lengths.ts';
import { installByteStreams } from './byte-streams.ts';
import { installCaches } from './caches.ts';
import { installAddedMethods, installCloudflare, installNavigator } from './cloudflare.ts';
import { installDigests } from './digests.ts';
import { installFetch } from './gated-fetch.ts';
import { installPromises } from './gated-promises.ts';
import { Realm, type Replace, replaceDate } from './realm.ts';
import { installSchedulerWait, installTimers } from './timers.ts';

/** The parts of the scope that every host of objects replaces. */
export const OBJECT_GLOBALS: readonly Replace[] = [
  (scope, { current }) => installTimers(scope, current),
  (scope, { current }) => installSchedulerWait(scope, current),
  (scope, { current }) => installFetch(scope, current),
  installMessages,
  installAddedMethods,
  installByteStreams,
  installBodyLengths,
  (scope, { ownHost }) => installBodyChunks(scope, () => ownHost() !== undefined),
  installDigests,
  (scope, { current }) => installPromises(scope, current),
  (scope, { ownHost }) => installNavigator(scope, () => ownHost() !== undefined),
  (scope, { current, ownHost }) => installCaches(scope, current, ownHost),
  (scope, { current, ownHost }) => installCloudflare(scope, current, () => ownHost() !== undefined),
  installSocketClasses,
  installSocketResponse,
  (scope, { ownHost }) => installArguments(scope, () => ownHost() !== undefined),
  replaceDate,
];

/** Of a thread that runs object code: globals are one per thread, and so is this. */
export const objectRealm = new Realm(globalThis, OBJECT_GLOBALS);
