// A service worker that answers the provider's addresses for its pages, with objects in its own memory.

import { ownWasmUrl } from '../../../src/shared/contract/wasm-url.ts';
import { createObjects } from '../../../worker/start/entries/in-process.ts';
import { createManagementApi, handleFetchEvent, ManagementObject } from '../index.ts';
import { SCENARIO_ACCOUNT } from './scenario.ts';

const BASE = 'https://api.example/client/v4';
const opened = createObjects({ ManagementObject }, { wasm: ownWasmUrl()! }).then(({ env }) =>
  createManagementApi({
    namespace: env.ManagementObject,
    accounts: [{ id: SCENARIO_ACCOUNT, name: 'First' }],
  }),
);

interface FetchEvent extends Event {
  readonly request: Request;
  respondWith(response: Response | Promise<Response>): void;
}

addEventListener('fetch', (event) => {
  const { request } = event as FetchEvent;
  // The event must be answered at once, but the provider may still be starting.
  const api = {
    fetch: async (asked: Request) => (await opened).fetch(asked),
  };
  if (handleFetchEvent(event as FetchEvent, api, BASE)) return;
  if (request.mode === 'navigate') {
    const page = new Response('<title>inside</title>', {
      headers: { 'content-type': 'text/html' },
    });
    (event as FetchEvent).respondWith(page);
  }
});
