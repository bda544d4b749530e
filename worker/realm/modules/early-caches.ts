// Gives code outside of objects a `caches` on platforms that have none, such as Node. SDKs wrap `caches` while modules
// are evaluated, and use the wrapped object later, inside events.

import { replaceRead } from '../../../src/shared/calls/io/replace-global.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';

/** The members of workerd's `CacheStorage` that are forwarded. */
interface ForwardedCaches {
  readonly default: Pick<Cache, 'put' | 'match' | 'delete'>;
  open(name: string): Promise<ForwardedCaches['default']>;
}

/**
 * Adds `caches`, whose calls go to the caches of the running host. Install it after the replacement of a host's caches.
 * Call the result to remove it.
 */
export function installEarlyCaches(scope: object): () => void {
  return replaceRead(scope, 'caches', (ofHost) => ofHost() ?? earlyCaches(ofHost));
}

function earlyCaches(ofHost: () => unknown): ForwardedCaches {
  const caches = () => {
    const found = ofHost() as ForwardedCaches | undefined;
    if (found !== undefined) return found;
    throw storageError(
      'CONNECTION_CLOSED',
      'caches was used outside of objects and events: use it in a handler.',
    );
  };
  return {
    default: {
      put: async (...put) => caches().default.put(...put),
      match: async (...match) => caches().default.match(...match),
      delete: async (...deletion) => caches().default.delete(...deletion),
    },
    open: async (name) => caches().open(name),
  };
}
