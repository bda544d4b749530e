// The limits behind comlink, on the page.

import { wrap } from 'comlink';
import { serveContender } from './contender-page.ts';

interface ComlinkStore {
  put(key: string, value: Uint8Array): void;
  get(key: string): Uint8Array | undefined;
  select(id: number): string;
  fill(): void;
}

serveContender(
  async () => {
    const worker = new Worker(new URL('./worker.js', location.href), { type: 'module' });
    const { put, get, select, fill } = wrap<ComlinkStore>(worker);
    return { page: { put, get, select, fill } };
  },
  async (opened) => opened,
);
