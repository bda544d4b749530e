// Answers each start message of a page as soon as this package's code runs in a worker, whether or not the script
// serves, so that the page can distinguish a script that never calls serve() from a script that is still loading.
//
// This module is imported for this side effect. Bundlers keep it even if a script uses no export of the package, because
// `sideEffects` in package.json names its file.
//
// It does nothing outside of a dedicated worker, such as in Node, where the package is imported for its classes.

import type { StartMessage, WorkerMessage } from '../../../src/shared/wire/control.ts';

/** The members of a worker's global scope that this file uses. */
interface WorkerScope {
  postMessage(message: WorkerMessage): void;
  addEventListener(
    type: 'message',
    listener: (event: MessageEvent<StartMessage | null>) => void,
  ): void;
}

answerStarts(globalThis);

function answerStarts(scope: object): void {
  if (!isDedicatedWorker(scope)) return;
  scope.addEventListener('message', ({ data }) => {
    if (data?.type === 'start') scope.postMessage({ type: 'loaded' });
  });
}

function isDedicatedWorker(scope: object): scope is WorkerScope {
  return 'DedicatedWorkerGlobalScope' in scope;
}
