// Reads `env` while it is evaluated; its object calls another object after a digest.

import {
  DurableObject,
  env,
  serve,
  WorkerEntrypoint,
} from '../../../worker/start/entries/objects.ts';
import { options } from './env-provided.ts'; // first: it fills `env`

/** Stands for every type of the classes in this file, which an app might write in JavaScript. */
// biome-ignore lint/suspicious/noExplicitAny: the same members as an app's
type Untyped = any;

const NAMES = ['KV', 'BOX', 'API'] as const;
const early = NAMES.map((name) => env[name]);
let hasGoneOn = false;
let release: (() => void) | undefined;

class Box extends DurableObject<Untyped> {
  sees(): unknown[] {
    return [...NAMES.map((name, i) => this.env[name] === early[i]), this.env.NAME];
  }

  async askAfterDigest(): Promise<void> {
    await crypto.subtle.digest('SHA-256', new Uint8Array(1000));
    await new Blob(['blob']).text();
    await this.env.BOX.getByName('other').wait();
    hasGoneOn = true;
  }

  wait(): Promise<void> {
    return new Promise((resolve) => {
      release = resolve;
    });
  }

  reset(): void {
    this.ctx.abort('on purpose');
  }
}

class Api extends WorkerEntrypoint {
  hi(): string {
    return 'hi';
  }
}

const main = {
  async fetch(request: Request, given: Untyped): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === '/waits') return Response.json(release !== undefined);
    if (pathname === '/release') {
      release!();
      await new Promise((resolve) => setTimeout(resolve, 1));
      return Response.json(hasGoneOn);
    }
    const [kvStore, , api] = early as Untyped[];
    await kvStore.put('k', 'v');
    const sees = NAMES.map((name, i) => given[name] === early[i]);
    env.NAME = 'changed';
    const seen = [given.NAME, ...(await given.BOX.getByName('a').sees())];
    return Response.json([...sees, await given.KV.get('k'), await api.hi(), ...seen]);
  },
};

serve({ Box }, { ...options, exports: { default: main, Box, Api } });
