// `ctx-storage/worker` in Node: what files of classes import. Their host there is `ctx-storage/node`.

import { storageError } from '../../src/contract/errors.ts';

export * from '../library/library.ts';

/** Fails: nothing in Node is a worker of a page. @throws WORKER_FAILED */
export function serve(): never {
  throw storageError(
    'WORKER_FAILED',
    'serve() runs in a worker of a browser. In Node pass the classes to createObjects() of ' +
      'ctx-storage/node, from a file that does not call serve().',
  );
}
