// Lists the globals that object code sees: platform globals with different behaviour inside an object (timers, Date,
// fetch, Request, Response, WebSocket, scheduler), and globals that only workerd has.

import { installMessages } from '../../../src/shared/calls/http/kept-messages.ts';
import {
  installSocketClasses,
  installSocketResponse,
} from '../../../src/shared/calls/sockets/install.ts';

import { installWorkerdArguments } from './arguments-of-workerd.ts';
import { installBodyChunks } from './body-chunks.ts';
import { installBodyLengths } from './body-lengths.ts';
import { installByteStreams } from './byte-streams.ts';
import { installCaches } from './caches.ts';
import { installAddedMethods, installCloudflare, installNavigator } from './cloudflare.ts';
import { installDigests } from './digests.ts';
import { installFetch } from './gated-fetch.ts';
import { installGatedPromises } from './gated-promises.ts';
import { Realm, type Replace, replaceDate } from './realm.ts';
import { installSchedulerWait, installTimers } from './timers.ts';

/** The functions that replace these globals. Every host of objects installs all of them. */
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
  (scope, { current }) => installGatedPromises(scope, current),
  (scope, { ownHost }) => installNavigator(scope, () => ownHost() !== undefined),
  (scope, { current, ownHost }) => installCaches(scope, current, ownHost),
  (scope, { current, ownHost }) => installCloudflare(scope, current, () => ownHost() !== undefined),
  installSocketClasses,
  installSocketResponse,
  (scope, { ownHost }) => installWorkerdArguments(scope, () => ownHost() !== undefined),
  replaceDate,
];

/** The realm of a thread that runs object code. There is one per thread, as there is one global scope. */
export const objectRealm = new Realm(globalThis, OBJECT_GLOBALS);
