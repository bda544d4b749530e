// Defines the classes by which programs recognize stubs, their members and promises of calls, with `instanceof`. The
// values are proxies with these prototypes. Only `RpcStub` can be constructed, through `cloudflare:workers`.

class Unconstructible {
  constructor() {
    throw new TypeError('Illegal constructor');
  }
}

/** The class of stubs of functions and RpcTargets. */
export class RpcStub extends Unconstructible {}

/** The class of members of stubs. */
export class RpcProperty extends Unconstructible {}

/** The class of promises of calls. It extends Promise, so that programs recognize a promise. */
export class RpcPromise extends Unconstructible {
  static {
    Object.setPrototypeOf(RpcPromise.prototype, Promise.prototype);
  }
}
