// Defines the base class of stubs and services, from which they inherit `fetch`, as in workerd. Code may replace `fetch`
// on one stub, or wrap a stub in a proxy.
//
// Invariant: `fetch` throws if `this` is not a stub, as in workerd.

import { storageError } from '../../contract/errors.ts';
import { refuseToClone } from '../../values/object-kind.ts';

export type Fetch = (
  input: Request | string | URL,
  init: RequestInit | undefined,
) => Promise<Response>;

const fetches = new WeakMap<object, Fetch>();

/** A token that only this package can pass to the constructor. */
export const OWN_STUB = Symbol('internal');

/** The class of every stub and service: `ServiceStub` of `cloudflare:workers`. */
export class Fetcher {
  constructor(token?: unknown) {
    if (token !== OWN_STUB) throw new TypeError('Illegal constructor');
  }

  fetch(input: Request | string | URL, init?: RequestInit): Promise<Response> {
    const own = fetches.get(this);
    if (own !== undefined) return own(input, init);
    throw storageError(
      'ILLEGAL_INVOCATION',
      'Illegal invocation: function called with incorrect `this` reference. Call fetch as a method of its stub.',
    );
  }

  get [Symbol.toStringTag](): string {
    return 'Fetcher';
  }
}

// The class has the name that workerd gives it. Its tag, Fetcher, is workerd's older name.
Object.defineProperty(Fetcher, 'name', { value: 'ServiceStub' });
refuseToClone(Fetcher);

/** Sets the function that performs `stub.fetch`. Returns the stub. */
export function setFetch<Stub extends object>(stub: Stub, fetch: Fetch): Stub {
  fetches.set(stub, fetch);
  return stub;
}
