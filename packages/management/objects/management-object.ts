// A stateful object of the emulated provider: the directory, an account or a zone.
//
// It answers calls that the edge sends as JSON in the newest form of the interface. Each call is one transaction, so a
// refused call changes nothing. The class extends no other class, so that it runs wherever an object with `fetch` runs.
// It knows nothing about dates, older forms and HTTP.

import type { DurableObjectState } from '@ctx-storage/core/object';
import { type Answer, ApiError, type Call, errorAnswer } from '../call/call.ts';
import { ItemStore } from '../resources/item-store.ts';
import type { RouteTable } from '../routes/route-table.ts';
import { internalRoutes, publicRoutes, type Route } from '../routes/routes.ts';

const PUBLIC = publicRoutes();
const INTERNAL = internalRoutes();

/** Paths of requests that the edge sends to bookmark and restore an object; requests to any other path are calls. */
export const BOOKMARK_PATH = '/bookmark';
export const RESTORE_PATH = '/restore';

/** The reason for which a restore restarts the object. The restore's request rejects with it. */
export const RESTORED = 'A bookmark is restored.';

export class ManagementObject {
  readonly #ctx: DurableObjectState;
  readonly #store: ItemStore;

  constructor(ctx: DurableObjectState, _env?: unknown) {
    this.#ctx = ctx;
    this.#store = new ItemStore(ctx.storage);
  }

  async fetch(request: Request): Promise<Response> {
    const { storage } = this.#ctx;
    switch (new URL(request.url).pathname) {
      case BOOKMARK_PATH:
        return new Response(await storage.getCurrentBookmark());
      case RESTORE_PATH:
        // The restore and the restart happen in one event; otherwise writes between the two would be undone.
        await storage.onNextSessionRestoreBookmark(await request.text());
        return this.#ctx.abort(RESTORED);
      default:
        return Response.json(this.#answer((await request.json()) as Call));
    }
  }

  #answer(call: Call): Answer {
    const matched = find(INTERNAL, call) ?? find(PUBLIC, call);
    if (matched === undefined) throw new Error(`No object answers ${call.method} ${call.path}.`);
    const { route, params } = matched;
    try {
      return this.#store.transaction(() => route.handle(this.#store, { ...call, params }));
    } catch (error) {
      if (error instanceof ApiError) return errorAnswer(error);
      throw error;
    }
  }
}

function find(table: RouteTable<Route>, { method, path }: Call) {
  const matched = table.match(method, path);
  return matched.kind === 'route' ? matched : undefined;
}
