// `ctx-storage/worker` in Node, for files of classes. The host to run them there is `ctx-storage/node`.

import { storageError } from '../../../src/shared/contract/errors.ts';

export * from '../../realm/library/library.ts';

/** Always fails: in Node there is no page whose worker this could be. @throws WORKER_FAILED */
export function serve(): never {
  throw storageError(
    'WORKER_FAILED',
    'serve() runs in a worker of a browser. In Node pass the classes to createObjects() of ' +
      'ctx-storage/node, from a file that does not call serve().',
  );
}
