// Receives SQLite's WebAssembly module from the page, which loads it while this worker's script is still loading.
//
// Invariant: the module comes from the requested address. Each module is returned once, so that a retry after a failure
// loads the file anew. No assertion keeps this: messages of the page come in any order.

import type { WasmMessage } from '../../../src/shared/contract/wasm-message.ts';

/** The members of a worker's global scope that this file uses. */
interface WorkerScope {
  addEventListener(
    type: 'message',
    listener: (event: MessageEvent<WasmMessage | null>) => void,
  ): void;
}

type Module = WebAssembly.Module | null;

export class PageModule {
  readonly #coming = new Map<string, PromiseWithResolver<Module>>();

  /** Receives the page's message. Construct this object before the first `await`; otherwise the message is lost. */
  constructor(scope: WorkerScope) {
    scope.addEventListener('message', ({ data }) => {
      if (data?.type !== 'wasm') return;
      const { url, module } = data;
      if (module === undefined) this.#coming.set(url, withResolver());
      else this.#coming.get(url)?.resolve(module);
    });
  }

  /** Waits for the module. Returns the address if the page does not load it or has failed; null if there is no address. */
  async of(address: string | null | undefined): Promise<WebAssembly.Module | URL | null> {
    if (!address) return null;
    const coming = this.#coming.get(address);
    const module = await coming?.promise;
    this.#coming.delete(address);
    return module ?? new URL(address);
  }
}

interface PromiseWithResolver<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
}

function withResolver<T>(): PromiseWithResolver<T> {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
