// `ServiceStub`, `RpcPromise` and `RpcProperty`, with which code recognizes stubs and their members.

import { Fetcher } from '../../../src/shared/calls/stubs/fetcher.ts';
import type { ServiceStub as ServiceStubOf } from '../../../src/shared/contract/service.ts';

export { RpcPromise, RpcProperty } from '../../../src/shared/calls/stubs/rpc-classes.ts';

/** The class of the stubs of objects, of services and of exports. */
export const ServiceStub: abstract new () => object = Fetcher as never;

export type ServiceStub<T extends object = object> = ServiceStubOf<T>;
