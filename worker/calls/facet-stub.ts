// The stub of a facet, for the object that it belongs to: every member but `fetch` is one of the facet.
//
// It is valid as long as the instance that made it, so it cannot be stored or sent.

import { refuseToClone } from '../../src/serializer/object-kind.ts';
import { setFixed } from '../../src/stubs/known-stubs.ts';
import { isRemote } from '../../src/stubs/remote-name.ts';
import { type Remote, remoteMember } from '../../src/stubs/rpc-promise.ts';
import type { Callee, ObjectCaller } from '../../src/stubs/stub.ts';

class ServiceStub {
  readonly #fetch: (input: Request | string | URL, init?: RequestInit) => Promise<Response>;

  constructor(fetch: ServiceStub['fetch']) {
    this.#fetch = fetch;
    // Bound, because it is called on the proxy.
    const value = this.fetch.bind(this);
    Object.defineProperty(this, 'fetch', { value });
  }

  get [Symbol.toStringTag](): string {
    return 'Fetcher';
  }

  async fetch(input: Request | string | URL, init?: RequestInit): Promise<Response> {
    return this.#fetch(input, init);
  }
}

refuseToClone(ServiceStub);

/** `callerNow` carries one call of the code that is running. */
export function createFacetStub(callee: Callee, callerNow: () => ObjectCaller): object {
  const remote: Remote = {
    get: (path) => callerNow().get(callee, path),
    call: (path, parameters) => callerNow().call(callee, path, parameters),
  };
  const stub = new Proxy(new ServiceStub((input, init) => callerNow().fetch(callee, input, init)), {
    get(target, name) {
      if (name === 'fetch' || !isRemote(name)) return Reflect.get(target, name);
      return remoteMember(remote, [name]);
    },
  });
  setFixed(stub, 'Stubs pointing to Durable Object facets are not serializable.');
  return stub;
}
