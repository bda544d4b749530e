// `caches` where the platform has none: outside of objects and events, as while modules are evaluated. SDKs wrap it there,
// so that what they hold must work in events.

import { replaceRead } from '../../../src/shared/calls/io/replace-global.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';

/** The members of workerd's classes. */
interface Caching {
  readonly default: Pick<Cache, 'put' | 'match' | 'delete'>;
  open(name: string): Promise<Caching['default']>;
}

/** Installed after the `caches` of hosts, to which each call goes. The result undoes it. */
export function installEarlyCaches(scope: object): () => void {
  return replaceRead(scope, 'caches', (ofHost) => ofHost() ?? earlyCaches(ofHost));
}

function earlyCaches(ofHost: () => unknown): Caching {
  const caches = () => {
    const found = ofHost() as Caching | undefined;
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
