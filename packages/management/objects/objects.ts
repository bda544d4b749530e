// Sends calls, bookmarks and restores to the objects of an emulated provider.

import type { Answer, Call } from '../call/call.ts';
import { BOOKMARK_PATH, RESTORE_PATH, RESTORED } from './management-object.ts';

/** A namespace of stateful objects, such as a Durable Object namespace. */
export interface ManagementNamespace {
  getByName(name: string): { fetch(request: Request): Promise<Response> };
}

export class ManagementObjects {
  readonly #namespace: ManagementNamespace;

  constructor(namespace: ManagementNamespace) {
    this.#namespace = namespace;
  }

  /** Returns the name of a zone's or account's object in the namespace. */
  static nameOf(kind: 'zone' | 'account', id: string): string {
    return `${kind}:${id}`;
  }

  directory(call: Call): Promise<Answer> {
    return this.#send('directory', call);
  }

  zone(id: string, call: Call): Promise<Answer> {
    return this.#send(ManagementObjects.nameOf('zone', id), call);
  }

  account(id: string, call: Call): Promise<Answer> {
    return this.#send(ManagementObjects.nameOf('account', id), call);
  }

  /** Returns the bookmarks of these objects and of the directory, by name. */
  async bookmarks(names: readonly string[]): Promise<Record<string, string>> {
    const bookmarks = ['directory', ...names].map(async (name) => {
      const response = await this.#post(name, BOOKMARK_PATH, '');
      return [name, await response.text()] as const;
    });
    return Object.fromEntries(await Promise.all(bookmarks));
  }

  /**
   * Restores each object to its bookmark. If a bookmark is invalid, the other objects are restored, and the promise
   * rejects.
   */
  async restore(bookmarks: Readonly<Record<string, string>>): Promise<void> {
    const restored = Object.entries(bookmarks).map(([name, bookmark]) =>
      this.#post(name, RESTORE_PATH, bookmark).catch((error: unknown) => {
        if (!String((error as Error).message).includes(RESTORED)) throw error;
      }),
    );
    for (const result of await Promise.allSettled(restored)) {
      if (result.status === 'rejected') throw result.reason;
    }
  }

  async #send(name: string, call: Call): Promise<Answer> {
    const response = await this.#post(name, '/', JSON.stringify(call));
    return (await response.json()) as Answer;
  }

  async #post(name: string, path: string, body: string): Promise<Response> {
    const request = new Request(`https://object${path}`, { method: 'POST', body });
    const response = await this.#namespace.getByName(name).fetch(request);
    if (!response.ok) throw new Error(`Object ${name} answered ${response.status}.`);
    return response;
  }
}
