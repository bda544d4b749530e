// The entry `ctx-storage/worker` in Node, for files that define classes. `ctx-storage/node` runs them.

import { storageError } from '../../../src/shared/contract/errors.ts';

export * from '../../realm/library/library.ts';

/** Always throws, because a Node process is not the worker of a page. @throws WORKER_FAILED */
export function serve(): never {
  throw storageError(
    'WORKER_FAILED',
    'serve() runs in a worker of a browser. In Node pass the classes to createObjects() of ' +
      'ctx-storage/node, from a file that does not call serve().',
  );
}
