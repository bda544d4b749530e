// Answers the start messages of a page as soon as this package's code runs in a worker, so that the page can
// tell a script that never calls serve() from one that is still being loaded.
//
// Invariant: every start message is answered, whether or not the script serves. Listens to nothing else.

import type { StartMessage, WorkerMessage } from '../../src/rpc/control.ts';

/** The part of a worker's global scope that is used. */
interface WorkerScope {
  postMessage(message: WorkerMessage): void;
  addEventListener(
    type: 'message',
    listener: (event: MessageEvent<StartMessage | null>) => void,
  ): void;
}

/** Does nothing outside of a dedicated worker, where the same module is imported for its classes. */
export function answerStarts(scope: object = globalThis): void {
  if (!isDedicatedWorker(scope)) return;
  scope.addEventListener('message', ({ data }) => {
    if (data?.type === 'start') scope.postMessage({ type: 'loaded' });
  });
}

function isDedicatedWorker(scope: object): scope is WorkerScope {
  return 'DedicatedWorkerGlobalScope' in scope;
}
