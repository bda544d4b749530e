// SQLite's WebAssembly as the page of this worker loads it, while this worker's script is loaded.
//
// Invariant: the module that is given is of the address that was asked for. Each is given once, so that whoever
// tries again after a failure loads the file itself.

import type { WasmMessage } from '../../../src/shared/contract/wasm-message.ts';

/** The part of a worker's global scope that is used. */
interface WorkerScope {
  addEventListener(
    type: 'message',
    listener: (event: MessageEvent<WasmMessage | null>) => void,
  ): void;
}

type Module = WebAssembly.Module | null;

export class PageModule {
  readonly #coming = new Map<string, PromiseWithResolver<Module>>();

  /** Make it before anything is awaited; otherwise the page is not heard. */
  constructor(scope: WorkerScope) {
    scope.addEventListener('message', ({ data }) => {
      if (data?.type !== 'wasm') return;
      const { url, module } = data;
      if (module === undefined) this.#coming.set(url, withResolver());
      else this.#coming.get(url)?.resolve(module);
    });
  }

  /** The module, or the address if the page does not load it or has failed to; null: the address is unknown. */
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
