// `fetch` and `WebSocket` of a page, answered by the page's own worker where they would ask the page's server.
//
// Invariant: requests that are not routed reach the scope's own functions, unchanged. Does not know how the worker is
// reached: a request waits for it.

import type { ObjectResponse } from '@ctx-storage/core/object';
import { RoutedSocket } from './routed-socket.ts';

/** The member of `worker` that is used. */
export interface RequestTarget {
  fetch(input: Request | string | URL, init?: RequestInit): Promise<ObjectResponse>;
}

/** The globals that are replaced. */
export interface RoutedScope {
  readonly location: { readonly href: string; readonly origin: string };
  fetch: typeof fetch;
  WebSocket: typeof WebSocket;
}

/**
 * Sends the page's own `fetch` and `new WebSocket` to its worker, so that a front end which was written for a server runs
 * unchanged. `isRouted` chooses among the addresses of the page's origin. Import it before the front end. The result
 * ends it; sockets stay open.
 *
 * Navigations, images and other elements, `EventSource` and `XMLHttpRequest` still ask the server.
 */
export function routeToWorker(
  worker: RequestTarget | PromiseLike<RequestTarget>,
  isRouted: (url: URL) => boolean,
  scope: RoutedScope = globalThis,
): () => void {
  const { fetch: ownFetch, WebSocket: OwnWebSocket } = scope;
  /** The address for the worker; undefined: it is not routed. */
  const routed = (address: string | URL): URL | undefined => {
    let url: URL;
    try {
      url = new URL(address, scope.location.href);
    } catch {
      // The scope's own function refuses it, with its own error.
      return undefined;
    }
    url.protocol = url.protocol.replace(/^ws/, 'http');
    return url.origin === scope.location.origin && isRouted(url) ? url : undefined;
  };
  scope.fetch = async (input, init) => {
    const url = routed(input instanceof Request ? input.url : input);
    if (url === undefined) return ownFetch.call(scope, input, init);
    return (await worker).fetch(input instanceof Request ? input : url, init);
  };
  scope.WebSocket = new Proxy(OwnWebSocket, {
    construct(target, parameters: ConstructorParameters<typeof WebSocket>, newTarget) {
      const [address, protocols = []] = parameters;
      const url = routed(address);
      if (url === undefined) return Reflect.construct(target, parameters, newTarget);
      const headers = new Headers({ Upgrade: 'websocket' });
      const names = [protocols].flat();
      if (names.length > 0) headers.set('Sec-WebSocket-Protocol', names.join(', '));
      const socketUrl = url.href.replace(/^http/, 'ws');
      return new RoutedSocket(socketUrl, async () => (await worker).fetch(url, { headers }));
    },
  });
  return () => Object.assign(scope, { fetch: ownFetch, WebSocket: OwnWebSocket });
}
