// An app of a page's worker whose front end asks by `fetch` and `WebSocket`.

import { serve } from '../../../worker/start/entries/objects.ts';

interface AcceptedSocket extends WebSocket {
  accept(): void;
}
declare const WebSocketPair: new () => { 0: AcceptedSocket; 1: AcceptedSocket };

function fetch(request: Request): Response {
  const { pathname, search } = new URL(request.url);
  if (pathname === '/api/refused') return new Response('no', { status: 403 });
  if (request.headers.get('upgrade') !== 'websocket') {
    return Response.json([request.method, pathname + search]);
  }
  const { 0: client, 1: server } = new WebSocketPair();
  server.accept();
  server.addEventListener('message', ({ data }: MessageEvent<string | ArrayBuffer>) => {
    if (data === 'end') server.close(4001, 'enough');
    else server.send(data);
  });
  const headers = { 'Sec-WebSocket-Protocol': 'chat' };
  return new Response(null, { status: 101, webSocket: client, headers } as ResponseInit);
}

serve({}, { exports: { default: { fetch } } });
