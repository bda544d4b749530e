// The objects of an emulated provider as the edge calls them.

import type { Answer, Call } from '../call.ts';

/** What a namespace of stateful objects gives; a Durable Object namespace fits. */
export interface ManagementNamespace {
  getByName(name: string): { fetch(request: Request): Promise<Response> };
}

export class ManagementObjects {
  readonly #namespace: ManagementNamespace;

  constructor(namespace: ManagementNamespace) {
    this.#namespace = namespace;
  }

  directory(call: Call): Promise<Answer> {
    return this.#send('directory', call);
  }

  zone(id: string, call: Call): Promise<Answer> {
    return this.#send(`zone:${id}`, call);
  }

  account(id: string, call: Call): Promise<Answer> {
    return this.#send(`account:${id}`, call);
  }

  async #send(name: string, call: Call): Promise<Answer> {
    const request = new Request('https://object/', { method: 'POST', body: JSON.stringify(call) });
    const response = await this.#namespace.getByName(name).fetch(request);
    if (!response.ok) throw new Error(`Object ${name} answered ${response.status}.`);
    return (await response.json()) as Answer;
  }
}
