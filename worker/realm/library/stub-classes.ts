// Exports `ServiceStub`, `RpcPromise` and `RpcProperty`, so that programs can recognize stubs by `instanceof`.

import { Fetcher } from '../../../src/shared/calls/stubs/fetcher.ts';
import type { ServiceStub as ServiceStubOf } from '../../../src/shared/contract/service.ts';

export { RpcPromise, RpcProperty } from '../../../src/shared/calls/stubs/rpc-classes.ts';

/** The class of all stubs of objects, services and exports. */
export const ServiceStub: abstract new () => object = Fetcher as never;

export type ServiceStub<T extends object = object> = ServiceStubOf<T>;
