// The classes of stubs, of their members and of the promises of calls, as programs recognize them: by `instanceof`, and
// by their prototype. Proxies stand for their instances; only `cloudflare:workers` constructs one, an `RpcStub`.

class Unconstructible {
  constructor() {
    throw new TypeError('Illegal constructor');
  }
}

/** The stub of a function or RpcTarget. */
export class RpcStub extends Unconstructible {}

/** A member of a stub. */
export class RpcProperty extends Unconstructible {}

/** The promise of a call. Programs that look for promises find one. */
export class RpcPromise extends Unconstructible {
  static {
    Object.setPrototypeOf(RpcPromise.prototype, Promise.prototype);
  }
}
