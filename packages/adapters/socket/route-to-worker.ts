// Routes the `fetch` and `WebSocket` of a page to the page's own worker, for addresses that would reach the page's
// server.
//
// Invariant: requests that are not routed reach the scope's own functions, unchanged. A routed request waits until the
// worker is there.

import type { ObjectResponse } from '@ctx-storage/core/object';
import { RoutedSocket } from './routed-socket.ts';

/** The member of `worker` that `routeToWorker` uses. */
export interface RequestTarget {
  fetch(input: Request | string | URL, init?: RequestInit): Promise<ObjectResponse>;
}

/** The globals that `routeToWorker` reads and replaces. */
export interface RoutedScope {
  readonly location: { readonly href: string; readonly origin: string };
  fetch: typeof fetch;
  WebSocket: typeof WebSocket;
}

/**
 * Sends the page's own `fetch` and `new WebSocket` to its worker, so that a front end which was written for a server
 * runs unchanged. `isRouted` chooses among the addresses of the page's origin. Import it before the front end. The
 * result ends it; sockets stay open.
 *
 * Navigations, images and other elements, `EventSource` and `XMLHttpRequest` still ask the server.
 */
export function routeToWorker(
  worker: RequestTarget | PromiseLike<RequestTarget>,
  isRouted: (url: URL) => boolean,
  scope: RoutedScope = globalThis,
): () => void {
  const { fetch: ownFetch, WebSocket: OwnWebSocket } = scope;
  /** Returns the address that the worker gets, or undefined if the address is not routed. */
  const routedUrl = (address: string | URL): URL | undefined => {
    let url: URL;
    try {
      url = new URL(address, scope.location.href);
    } catch {
      // The address is not valid, so the scope's own function refuses it with its own error.
      return undefined;
    }
    url.protocol = url.protocol.replace(/^ws/, 'http');
    return url.origin === scope.location.origin && isRouted(url) ? url : undefined;
  };
  scope.fetch = async (input, init) => {
    const url = routedUrl(input instanceof Request ? input.url : input);
    if (url === undefined) return ownFetch.call(scope, input, init);
    return (await worker).fetch(input instanceof Request ? input : url, init);
  };
  scope.WebSocket = new Proxy(OwnWebSocket, {
    construct(target, parameters: ConstructorParameters<typeof WebSocket>, newTarget) {
      const [address, protocols = []] = parameters;
      const url = routedUrl(address);
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
